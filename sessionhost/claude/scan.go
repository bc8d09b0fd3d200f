package claude

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// errJSON reports bytes without exactly one JSON value of the expected kind.
var errJSON = errors.New("invalid JSON")

// visitor receives one member of an object: the decoded key and the raw value, valid as
// long as the scanned bytes.
type visitor func(key, value []byte)

// A scanner is a decoder of a byte slice. Scanners are kept: a visitor may scan the value
// that it is given.
type scanner struct {
	jsontext.Decoder
	src bytes.Buffer
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// eachField validates b as one JSON object and calls visit for each of its top-level
// members in order, so that the last of duplicate keys wins. It accepts the same bytes as
// encoding/json.Valid, in one pass.
func eachField(b []byte, visit visitor) error {
	s := scanners.Get().(*scanner)
	if len(b) <= keepBytes { // a scanner refers to the last slice
		defer scanners.Put(s)
	}
	s.src = *bytes.NewBuffer(b)
	s.Reset(&s.src, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if s.PeekKind() != '{' {
		return errJSON
	}
	_, _ = s.ReadToken() // peeked
	for s.PeekKind() != '}' {
		quoted, err := s.ReadValue()
		if err != nil {
			return errJSON
		}
		key := keyOf(quoted)
		value, err := s.ReadValue()
		if err != nil {
			return errJSON
		}
		end := s.InputOffset()
		visit(key, b[end-int64(len(value)):end])
	}
	_, _ = s.ReadToken()
	if _, err := s.ReadToken(); !errors.Is(err, io.EOF) {
		return errJSON
	}
	return nil
}

func validJSON(b []byte) bool {
	return jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// keyOf returns the decoded key of a quoted one; only an escaped key costs an allocation,
// and claude writes none.
func keyOf(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return []byte(text(quoted))
	}
	return quoted[1 : len(quoted)-1]
}

// text decodes a JSON string, "" for anything else. Like encoding/json it turns invalid
// UTF-8 and lone surrogates into U+FFFD.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if s := value[1 : len(value)-1]; bytes.IndexByte(s, '\\') < 0 && utf8.Valid(s) {
		return string(s)
	}
	s, _ := jsontext.AppendUnquote(nil, value) // the error reports what was replaced
	return string(s)
}
