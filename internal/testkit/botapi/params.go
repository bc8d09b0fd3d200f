package botapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"bareclaw/internal/testkit/botapi/richtext"
)

const (
	maxUploadBytes = 50 << 20 // core.telegram.org/bots/api#sending-files
	// maxBodyBytes leaves room for the other fields of an upload.
	maxBodyBytes = maxUploadBytes + 64<<10
)

// params are the parameters of a call in the form they all come down to: text, with JSON
// for what is nested, and uploaded files.
type params struct {
	values map[string]string
	files  map[string]upload
}

type upload struct {
	name string
	data []byte
}

// readParams reads the body, which may be multipart, JSON or nothing.
func readParams(r *http.Request) (params, error) {
	p := params{values: map[string]string{}, files: map[string]upload{}}
	if r.ContentLength > maxBodyBytes {
		_, err := io.Copy(io.Discard, r.Body) // or the client might never read the answer
		return p, errors.Join(tooLarge, err)
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxBodyBytes)
	kind, attrs, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		err = nil
	case kind == "multipart/form-data":
		err = p.readMultipart(r, attrs["boundary"])
	case kind == "application/json":
		err = p.readJSON(r.Body)
	}
	if err == nil { // that a client has left is only noticed behind the end of a body
		_, err = io.Copy(io.Discard, r.Body)
	}
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		err = tooLarge
	}
	return p, err
}

// readMultipart reads every part. go-telegram/bot sends getMe with the content type and no
// byte of a body, which is no parameters.
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
		p.files[part.FormName()] = upload{name: part.FileName(), data: data}
	}
}

// readJSON takes an object. Strings lose their quotes; all else stays JSON.
func (p params) readJSON(body io.Reader) error {
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(body).Decode(&fields); err != nil && !errors.Is(err, io.EOF) {
		return bad("can't parse JSON object: %v", err)
	}
	for name, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		if string(raw) != "null" {
			p.values[name] = text
		}
	}
	return nil
}

func (r *request) text(name string) string { return r.values[name] }

// integer reads a number. Telegram takes what is none for 0 without a word.
func (r *request) integer(name string) int64 {
	text := r.values[name]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.violate("%s is %q, not an integer", name, text)
	}
	return n
}

// decode parses a nested parameter, if given, into dest.
func (r *request) decode(name string, dest any) {
	if text := r.values[name]; text != "" && json.Unmarshal([]byte(text), dest) != nil {
		panic(bad("can't parse %s JSON object", strings.ReplaceAll(name, "_", " ")))
	}
}

// formatted reads a text and its entities as people will see them.
func (r *request) formatted(name, entities string, limit int, tooLong string) (string, []Entity) {
	if mode := r.text("parse_mode"); mode != "" {
		r.violate("parse_mode %q; a text that cannot be parsed is lost", mode)
		panic(bad("unsupported parse_mode"))
	}
	text, kept, dropped, err := richtext.Settle(r.text(name), r.text(entities))
	if err != nil {
		panic(bad("%v", err))
	}
	for _, what := range dropped {
		r.violate("%s", what)
	}
	if richtext.Length(text) > limit {
		panic(bad("%s", tooLong))
	}
	return text, kept
}

func (r *request) violate(format string, args ...any) {
	r.s.violateLocked(r.call.Method+": "+format, args...)
}
