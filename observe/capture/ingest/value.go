package ingest

import (
	"bytes"
	"encoding/json"
	"io"
	"math"

	"bareclaw/observe/capture"
)

// A value is JSON of any type. A value of another type than expected is taken as one that is not
// there: SDKs of other versions must not be refused for it.
type value []byte

// UnmarshalJSON keeps the value as it is.
func (v *value) UnmarshalJSON(data []byte) error {
	*v = bytes.Clone(data)
	return nil
}

func (v value) reader() io.Reader { return bytes.NewReader(v) }

// text returns a string, cut to what a signal carries; empty if the value is none.
func (v value) text() string {
	s, _ := v.whole()
	return capture.CutSignalText(s)
}

// whole returns a string.
func (v value) whole() (string, bool) {
	if len(v) == 0 || v[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(v, &s)
	return s, err == nil
}

// number returns a finite number.
func (v value) number() (float64, bool) {
	var n *float64
	err := json.Unmarshal(v, &n)
	if err != nil || n == nil {
		return 0, false
	}
	return *n, true
}

// count returns a number that counts something, or the fallback.
func (v value) count(fallback int) int {
	n, ok := v.number()
	if !ok || n < 0 || n > math.MaxInt32 {
		return fallback
	}
	return int(n)
}

// yes reports whether the value is true.
func (v value) yes() bool { return string(v) == "true" }

// strings returns the members of an object that are strings.
func (v value) strings() map[string]string {
	const maxHeaders = 64 << 10
	if len(v) > maxHeaders {
		return nil
	}
	var members map[string]value
	err := json.Unmarshal(v, &members)
	if err != nil {
		return nil
	}
	strings := make(map[string]string, len(members))
	for name, member := range members {
		s, ok := member.whole()
		if ok {
			strings[name] = s
		}
	}
	return strings
}

// first returns the first of the values that is there and not null.
func first(values ...value) value {
	for _, v := range values {
		if len(v) > 0 && string(v) != "null" {
			return v
		}
	}
	return nil
}
