package botapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

const (
	maxUploadBytes = 50 << 20 // core.telegram.org/bots/api#sending-files
	// maxBodyBytes leaves room for the other fields of an upload.
	maxBodyBytes = maxUploadBytes + 64<<10
)

// params are the parameters of a call in the form they all come down to: text,
// with JSON for what is nested, and uploaded files.
type params struct {
	values map[string]string
	files  map[string]upload
}

type upload struct {
	name, mime string
	data       []byte
}

// readParams takes the query and the body, which may be multipart, urlencoded,
// JSON or nothing.
func readParams(r *http.Request) (params, error) {
	p := params{values: map[string]string{}, files: map[string]upload{}}
	for name, values := range r.URL.Query() {
		p.values[name] = values[0]
	}
	if r.ContentLength > maxBodyBytes {
		_, err := io.Copy(io.Discard, r.Body) // or the client might never read the answer
		return p, errors.Join(tooLarge(), err)
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxBodyBytes)
	kind, attrs, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	switch kind {
	case "multipart/form-data":
		err = p.readMultipart(r, attrs["boundary"])
	case "application/json":
		err = p.readJSON(r.Body)
	case "application/x-www-form-urlencoded":
		err = p.readForm(r)
	default:
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err == nil { // that a client has left is only noticed behind the end of a body
		_, err = io.Copy(io.Discard, r.Body)
	}
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		return p, tooLarge()
	}
	return p, err
}

func (p params) readForm(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	for name, values := range r.PostForm {
		p.values[name] = values[0]
	}
	return nil
}

// readMultipart reads every part. go-telegram/bot sends getMe with the content
// type and no byte of a body, which is no parameters.
func (p params) readMultipart(r *http.Request, boundary string) error {
	reader, err := r.MultipartReader()
	if err != nil {
		return fmt.Errorf("multipart body with the boundary %q: %w", boundary, err)
	}
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if part.FileName() == "" {
			p.values[part.FormName()] = string(data)
			continue
		}
		p.files[part.FormName()] = upload{name: part.FileName(), mime: part.Header.Get("Content-Type"), data: data}
	}
}

// readJSON takes an object. Strings lose their quotes; all else stays JSON.
func (p params) readJSON(body io.Reader) error {
	var fields map[string]json.RawMessage
	err := json.NewDecoder(body).Decode(&fields)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return bad("can't parse JSON object: %v", err)
	}
	for name, raw := range fields {
		var text string
		switch {
		case strings.HasPrefix(string(raw), `"`):
			if err := json.Unmarshal(raw, &text); err != nil {
				return bad("can't parse JSON object: %v", err)
			}
			p.values[name] = text
		case string(raw) != "null":
			p.values[name] = string(raw)
		}
	}
	return nil
}
