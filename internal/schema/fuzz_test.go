package schema

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// FuzzSchema holds that no schema and no value make the checker or the generator panic, and that
// what is generated fits.
func FuzzSchema(f *testing.F) {
	b, err := os.ReadFile("testdata/schema.json")
	check.OK(f, err)
	var cases []struct {
		Schema json.RawMessage `json:"schema"`
		Values []struct {
			Value json.RawMessage `json:"value"`
		} `json:"values"`
	}
	check.OK(f, json.Unmarshal(b, &cases))
	for _, c := range cases {
		f.Add(string(c.Schema), string(c.Values[0].Value))
	}
	f.Fuzz(func(t *testing.T, rawSchema, rawValue string) {
		var v, w any
		if !parse(rawSchema, &v) || !parse(rawValue, &w) {
			return
		}
		s, err := Compile(v)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.Check(ctx, w)
		if err != nil {
			return
		}
		made, err := s.Generate(ctx, words)
		if err != nil {
			return
		}
		if faults, err := s.Check(t.Context(), made); err == nil && len(faults) > 0 {
			t.Errorf("%v does not fit: %v", made, faults)
		}
	})
}

func parse(text string, v any) bool {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(v) == nil
}
