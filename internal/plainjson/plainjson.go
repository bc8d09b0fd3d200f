// Package plainjson encodes JSON without the HTML escapes of encoding/json. People and models read
// that JSON, and code has many <, > and &, which escapes make six bytes each.
package plainjson

import (
	"bytes"
	"encoding/json"
	"io"
)

// NewEncoder returns an encoder to w that leaves <, > and & as they are.
func NewEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// Marshal encodes v as [json.Marshal] does, but leaves <, > and & as they are.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := NewEncoder(&b).Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
