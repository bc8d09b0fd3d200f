package claude

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// errJSON reports bytes without exactly one JSON value of the expected kind.
var errJSON = errors.New("invalid JSON")

// visitor receives one member of an object: the decoded key and the raw value, valid as
// long as the scanned bytes.
type visitor func(key, value []byte)

// eachField validates b as one JSON object and calls visit for each of its top-level
// members in order, so that the last of duplicate keys wins. It accepts the same bytes as
// encoding/json.Valid, in one pass.
func eachField(b []byte, visit visitor) error { return each(b, '{', visit) }

// eachElement validates b as one JSON array and calls visit for each element.
func eachElement(b []byte, visit func(value []byte)) error {
	return each(b, '[', func(_, value []byte) { visit(value) })
}

// A scanner is a decoder of a byte slice. Scanners are kept: a visitor may scan the value
// that it is given.
type scanner struct {
	jsontext.Decoder
	src bytes.Buffer
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

func each(b []byte, opening jsontext.Kind, visit visitor) error {
	s := scanners.Get().(*scanner)
	if len(b) <= keepBytes { // a scanner refers to the last slice
		defer scanners.Put(s)
	}
	s.src = *bytes.NewBuffer(b)
	s.Reset(&s.src, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if s.PeekKind() != opening {
		return errJSON
	}
	_, _ = s.ReadToken()            // peeked
	for s.PeekKind() != opening+2 { // the closing bracket, in ASCII
		var key []byte
		if opening == '{' {
			quoted, err := s.ReadValue()
			if err != nil {
				return errJSON
			}
			key = keyOf(quoted)
		}
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

// validJSON reports whether b is exactly one JSON value.
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

// The functions below decode values that were visited. A value of another kind counts as
// absent.

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

func boolean(value []byte) bool { return string(value) == "true" }

// integer reads a JSON number, 0 for anything else. claude writes some counts as fractions.
func integer(value []byte) int64 {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n
	}
	return int64(number(value))
}

func number(value []byte) float64 {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return 0
	}
	return f
}

// texts reads the strings of an array.
func texts(value []byte) []string {
	var all []string
	_ = eachElement(value, func(v []byte) { // not an array: none
		if v[0] == '"' {
			all = append(all, text(v))
		}
	})
	return all
}

// member reads one string member of an object, "" if absent.
func member(object []byte, name string) string {
	var s string
	_ = eachField(object, func(key, value []byte) { // not an object: ""
		if string(key) == name {
			s = text(value)
		}
	})
	return s
}
