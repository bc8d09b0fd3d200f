package otlp

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/observe/capture"
)

// A jsonReader reads values one after the other. After an error it reads nothing more. A value of
// another type than expected is skipped, as one that is not there.
type jsonReader struct {
	decoder *jsontext.Decoder
	err     error
}

func newJSONReader(body io.Reader) *jsonReader {
	return &jsonReader{
		decoder: jsontext.NewDecoder(body,
			jsontext.AllowDuplicateNames(true), // finding them takes memory
			jsontext.AllowInvalidUTF8(true),
		),
	}
}

// jsonTraces reads an ExportTraceServiceRequest.
func jsonTraces(body io.Reader, b *batch) error {
	return jsonRequest(body, "resourceSpans", "scopeSpans", "spans", func(r *jsonReader) {
		s := r.span()
		if r.err == nil {
			b.span(&s)
		}
	})
}

// jsonLogs reads an ExportLogsServiceRequest.
func jsonLogs(body io.Reader, b *batch) error {
	return jsonRequest(body, "resourceLogs", "scopeLogs", "logRecords", func(r *jsonReader) {
		l := r.log()
		if r.err == nil {
			b.log(&l)
		}
	})
}

// jsonRequest calls each for the spans or log records of a request.
func jsonRequest(body io.Reader, resources, scopes, records string, each func(r *jsonReader)) error {
	r := newJSONReader(body)
	if r.kind() != '{' && r.err == nil {
		r.err = fmt.Errorf("the body must be a JSON object with %q", resources)
	}
	r.elements(resources, func() {
		r.elements(scopes, func() {
			r.elements(records, func() { each(r) })
		})
	})
	if r.err == nil {
		r.end()
	}
	if r.err != nil {
		return fmt.Errorf("the body cannot be read as JSON: %w", r.err)
	}
	return nil
}

// kind returns the kind of the next value; 0 after an error.
func (r *jsonReader) kind() jsontext.Kind {
	if r.err != nil {
		return 0
	}
	kind := r.decoder.PeekKind()
	if kind == jsontext.KindInvalid {
		_, r.err = r.decoder.ReadToken()
		return 0
	}
	return kind
}

// end expects that nothing follows.
func (r *jsonReader) end() {
	_, err := r.decoder.ReadToken()
	switch {
	case err == nil:
		r.err = fmt.Errorf("more follows at byte %d", r.decoder.InputOffset())
	case err != io.EOF: //nolint:errorlint // the decoder returns it as it is
		r.err = err
	}
}

func (r *jsonReader) skip() {
	if r.err == nil {
		r.err = r.decoder.SkipValue()
	}
}

func (r *jsonReader) token() jsontext.Token {
	if r.err != nil {
		return jsontext.Null
	}
	var token jsontext.Token
	token, r.err = r.decoder.ReadToken()
	if r.err != nil {
		return jsontext.Null
	}
	return token
}

// object calls member for the members of an object. Each call reads or skips the member's value.
func (r *jsonReader) object(member func(name string)) {
	if r.kind() != '{' {
		r.skip()
		return
	}
	r.token()
	for r.kind() == '"' {
		member(r.token().String())
	}
	r.token()
}

// array calls element for the elements of an array. Each call reads or skips one.
func (r *jsonReader) array(element func()) {
	if r.kind() != '[' {
		r.skip()
		return
	}
	r.token()
	for kind := r.kind(); kind != 0 && kind != ']'; kind = r.kind() {
		element()
	}
	r.token()
}

// elements calls element for those of an object's member that is an array.
func (r *jsonReader) elements(name string, element func()) {
	r.object(func(member string) {
		if member != name {
			r.skip()
			return
		}
		r.array(element)
	})
}

// text reads a string, cut.
func (r *jsonReader) text() string {
	if r.kind() != '"' {
		r.skip()
		return ""
	}
	return capture.CutSignalText(r.token().String())
}

// id reads bytes in hex. What is no hex is returned as it is, and has the wrong length.
func (r *jsonReader) id() []byte {
	text := r.text()
	id, err := hex.DecodeString(text)
	if err != nil {
		return []byte("not hexadecimal")
	}
	return id
}

// digits reads a number, which is a string if it has 64 bits.
func (r *jsonReader) digits() string {
	switch r.kind() {
	case '"', '0':
		return capture.CutSignalText(r.token().String())
	default:
		r.skip()
		return ""
	}
}

func (r *jsonReader) signed() int64 {
	n, _ := strconv.ParseInt(r.digits(), 10, 64) // zero, if it is no number
	return n
}

func (r *jsonReader) unsigned() uint64 {
	n, _ := strconv.ParseUint(r.digits(), 10, 64) // zero, if it is no number
	return n
}

func (r *jsonReader) boolean() bool {
	switch r.kind() {
	case 't', 'f':
		return r.token().Kind() == 't'
	default:
		r.skip()
		return false
	}
}
