package httpapi

import (
	"bareclaw/internal/humanize"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// bodyTimeout bounds how long a body may take to arrive.
const bodyTimeout = 2 * time.Minute

// A body is a pooled buffer and a decoder that reads from it.
type body struct {
	buf bytes.Buffer
	dec jsontext.Decoder
}

// withBody reads the request's JSON body and calls use with a decoder of it.
// What use keeps must not alias the decoder's buffer.
func (s *Server) withBody(w *response, r *http.Request, use func(*jsontext.Decoder) error) error {
	if p := contentType(r); p != nil {
		return p
	}
	b := s.bodies.Get().(*body)
	defer func() {
		if b.buf.Cap() <= maxPooledBytes {
			b.buf.Reset()
			s.bodies.Put(b)
		}
	}()
	if err := s.readBody(w, r, &b.buf); err != nil {
		return err
	}
	if w.route != messageRoute && b.buf.Len() <= maxAgainBytes {
		again := bytes.Clone(b.buf.Bytes())
		w.again = func() []byte { return again }
	}
	b.dec.Reset(&b.buf)
	return use(&b.dec)
}

// withOptionalBody is withBody for a request that may come without one: then
// use is not called, and no content type is needed.
func (s *Server) withOptionalBody(w *response, r *http.Request, use func(*jsontext.Decoder) error) error {
	if r.ContentLength == 0 {
		return nil
	}
	return s.withBody(w, r, use)
}

func contentType(r *http.Request) *problem {
	ct := r.Header.Get("Content-Type")
	if ct != "application/json" {
		if media, _, err := mime.ParseMediaType(ct); err != nil || media != "application/json" {
			return refuse(http.StatusUnsupportedMediaType, "unsupported_media_type",
				"Send the body as JSON, with the header \"Content-Type: application/json\".")
		}
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", "Send the body without a Content-Encoding.")
	}
	return nil
}

func (s *Server) readBody(w *response, r *http.Request, buf *bytes.Buffer) error {
	limit := s.o.BodyLimit
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	rc := http.NewResponseController(w)
	// Where deadlines are not supported the body may take longer.
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	if n := r.ContentLength; n > 0 { // not more than that on the client's word alone
		buf.Grow(int(min(n, 1<<20)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w.ResponseWriter, r.Body, limit))
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		return tooLarge(limit)
	}
	if err != nil {
		return badRequest("incomplete_body", "The body ended early or stopped arriving; send it again.")
	}
	w.bodyRead = true
	return nil
}

func tooLarge(limit int64) *problem {
	return refuse(http.StatusRequestEntityTooLarge, "body_too_large",
		fmt.Sprintf("The body is larger than %s, the limit set by BARECLAW_BODY_LIMIT.", bytesText(limit)))
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// object reads the one JSON object that dec holds and calls field for each
// member. Null members count as absent.
func object(dec *jsontext.Decoder, field func(name string) error) error {
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return badJSON(err)
		}
		return badRequest("invalid_body", "The body must be a JSON object.")
	}
	if err := members(dec, field); err != nil {
		return err
	}
	switch _, err := dec.ReadToken(); {
	case err == nil:
		return badRequest("invalid_json", "The body must be one JSON object with nothing after it.")
	case !errors.Is(err, io.EOF):
		return badJSON(err)
	}
	return nil
}

// members reads an object; dec stands before its opening brace. Field must read
// the member's value, whatever it is but null.
func members(dec *jsontext.Decoder, field func(name string) error) error {
	if _, err := dec.ReadToken(); err != nil {
		return badJSON(err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return badJSON(err)
		}
		key := name.String()
		if dec.PeekKind() == 'n' {
			err = skip(dec)
		} else {
			err = field(key)
		}
		if err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return badJSON(err)
	}
	return nil
}

func skip(dec *jsontext.Decoder) error {
	if err := dec.SkipValue(); err != nil {
		return badJSON(err)
	}
	return nil
}

// str reads a string. What names the member in the error.
func str(dec *jsontext.Decoder, code, what string) (string, error) {
	kind := dec.PeekKind()
	tok, err := dec.ReadToken()
	if err != nil {
		return "", badJSON(err)
	}
	if kind != '"' {
		return "", badRequest(code, "%s must be a string.", what)
	}
	return tok.String(), nil
}

func boolean(dec *jsontext.Decoder, code, what string) (bool, error) {
	kind := dec.PeekKind()
	tok, err := dec.ReadToken()
	if err != nil {
		return false, badJSON(err)
	}
	if kind != 't' && kind != 'f' {
		return false, badRequest(code, "%s must be true or false.", what)
	}
	return tok.Bool(), nil
}

// value reads any value of the given kind and returns a compact copy of it.
func value(dec *jsontext.Decoder, kind jsontext.Kind, code, complaint string) (jsontext.Value, error) {
	got := dec.PeekKind()
	v, err := dec.ReadValue()
	if err != nil {
		return nil, badJSON(err)
	}
	if got != kind {
		return nil, badRequest(code, "%s", complaint)
	}
	v = v.Clone()
	if err := v.Compact(); err != nil {
		return nil, badJSON(err)
	}
	return v, nil
}

func badJSON(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badRequest("invalid_json", "The body is not valid JSON: it ends too early.")
	case errors.Is(err, io.EOF):
		return badRequest("invalid_json", `The body is empty; send a JSON object such as {"text": "hello"}.`)
	case errors.As(err, &syntax):
		return badRequest("invalid_json", "The body is not valid JSON at byte %d: %s.", syntax.ByteOffset, humanize.Shorten(syntax.Err.Error(), maxQuoted))
	default:
		return badRequest("invalid_json", "The body is not valid JSON: %s.", humanize.Shorten(err.Error(), maxQuoted))
	}
}
