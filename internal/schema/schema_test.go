package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// testdata/make_schema.py writes the verdicts of another implementation.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/schema.json")
	check.OK(t, err)
	var cases []struct {
		Schema any `json:"schema"`
		Values []struct {
			Value any  `json:"value"`
			Valid bool `json:"valid"`
		} `json:"values"`
	}
	decode(t, string(b), &cases)
	for _, c := range cases {
		s, err := Compile(c.Schema)
		if err != nil {
			t.Errorf("%v: %v", c.Schema, err)
			continue
		}
		for _, v := range c.Values {
			faults, err := s.Check(t.Context(), v.Value)
			if err != nil || (len(faults) == 0) != v.Valid {
				t.Errorf("%v: %v: valid is %t; faults are %v, %v", c.Schema, v.Value, v.Valid, faults, err)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, value, want string }{
		{`{"type":"string"}`, `1`, `type: must be string, is number`},
		{`{"type":["string","null"]}`, `[]`, `type: must be one of ["string","null"], is array`},
		{`{"properties":{"a/b":{"items":{"minimum":3}}}}`, `{"a/b":[3,2]}`, `/a~1b/1 minimum: must be at least 3`},
		{`{"required":["a","b"]}`, `{"a":1}`, `required: must have the property "b"`},
		{`{"additionalProperties":false}`, `{"x":1}`, `additionalProperties: must not have the property "x"`},
		{`{"propertyNames":{"maxLength":1}}`, `{"xy":1}`, `propertyNames: must not have the property "xy", whose name must have at most 1 characters, has 2`},
		{`{"anyOf":[{"type":"string"},{"properties":{"a":{"type":"null"}}}]}`, `{"a":1}`, `anyOf: fits none of the schemas: must be string, is object; /a must be null, is number`},
		{`{"oneOf":[true,{},{"type":"string"}]}`, `1`, `oneOf: fits the schemas 0 and 1 of oneOf, and must fit one`},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, `uniqueItems: must have no equal items, but 0 and 2 are equal`},
		{`{"pattern":"^a"}`, `"b"`, `pattern: must match the pattern ^a`},
		{`{"enum":[1,"a"]}`, `2`, `enum: must be one of [1,"a"]`},
		{`{"const":12345678901234567890}`, `12345678901234567891`, `const: must be 12345678901234567890`},
		{`false`, `1`, `false: is not allowed`},
	} {
		s := compile(t, c.schema)
		faults, err := s.Check(t.Context(), read(t, c.value))
		check.OK(t, err)
		var got []string
		for _, f := range faults {
			got = append(got, strings.TrimSpace(f.Path+" "+f.Keyword)+": "+f.Message)
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %s: %q, want %q", c.schema, c.value, got, c.want)
		}
	}
}

// A schema without $schema may use the keywords of all drafts.
func TestAnyDraft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema, value string
		valid         bool
	}{
		{`{"items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`, false},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a",1]`, false},
		{`{"minimum":1,"exclusiveMinimum":true}`, `1`, false},
		{`{"exclusiveMinimum":1}`, `1`, false},
		{`{"dependencies":{"a":["b"]}}`, `{"a":1}`, false},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, false},
		{`{"$ref":"#/definitions/a","maximum":1,"definitions":{"a":{"minimum":0}}}`, `2`, false},
		{`{"$ref":"#/definitions/a","maximum":1,"definitions":{"a":{"minimum":0}}}`, `1`, true},
	} {
		faults, err := compile(t, c.schema).Check(t.Context(), read(t, c.value))
		if err != nil || (len(faults) == 0) != c.valid {
			t.Errorf("%s: %s: %v, %v", c.schema, c.value, faults, err)
		}
	}
}

func TestWrongSchemas(t *testing.T) {
	t.Parallel()
	for schema, says := range map[string]string{
		`1`:                                "schema: a schema must be an object, true or false, not number",
		`{"type":"strin"}`:                 "schema at /type: must be one or several of null,",
		`{"properties":{"a":{"type":1}}}`:  "schema at /properties/a/type: ",
		`{"properties":{"a":7}}`:           "schema at /properties/a: a schema must be",
		`{"properties":{"100%d":7}}`:       "schema at /properties/100%d: a schema must be",
		`{"properties":[]}`:                "schema at /properties: must be an object of schemas",
		`{"items":{"minLength":-1}}`:       "schema at /items/minLength: must be an integer from 0",
		`{"multipleOf":0}`:                 "schema at /multipleOf: must be a number above 0",
		`{"required":"a"}`:                 "schema at /required: must be an array of strings",
		`{"required":[1]}`:                 "schema at /required: must be an array of strings",
		`{"pattern":"("}`:                  "schema at /pattern: SyntaxError",
		`{"patternProperties":{"[":true}}`: "schema at /patternProperties: SyntaxError",
		`{"$ref":"#/definitions/a"}`:       `schema at /$ref: "#/definitions/a" leads nowhere`,
		`{"$ref":"http://example.com/x"}`:  "must lead to a part of the same schema",
		`{"$ref":"#/%zz"}`:                 "schema at /$ref: ",
		`{"$schema":"http://example.com"}`: "none of the drafts",
		`{"allOf":{"a":1}}`:                "schema at /allOf: must be an array of schemas",
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}]}`:       "schema at /items: must be a schema",
		`{"$schema":"http://json-schema.org/draft-07/schema#","exclusiveMinimum":true}`: "schema at /exclusiveMinimum: must be a number",
		`{"$schema":"http://json-schema.org/draft-04/schema","exclusiveMinimum":1}`:     "schema at /exclusiveMinimum: must be true or false",
	} {
		s, err := Compile(read(t, schema))
		if err == nil {
			t.Errorf("%s is compiled: %v", schema, s)
		} else if !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", schema, err, says)
		}
	}
}

// No schema keeps the checker busy without end.
func TestEndless(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"$ref":"#"}`,
		`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
	} {
		_, err := compile(t, schema).Check(t.Context(), "x")
		if err == nil || !strings.Contains(err.Error(), "refers to itself without end") {
			t.Errorf("%s: %v", schema, err)
		}
	}

	// Each definition asks for the next twice.
	var doubling strings.Builder
	doubling.WriteString(`{"$ref":"#/$defs/0","$defs":{"64":{}`)
	for i := range 64 {
		fmt.Fprintf(&doubling, `,"%d":{"allOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]}`, i, i+1, i+1)
	}
	doubling.WriteString("}}")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := compile(t, doubling.String()).Check(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}

	s := compile(t, `{"pattern":"^(a+)+$"}`)
	s.patternTimeout = 20 * time.Millisecond
	if _, err := s.Check(t.Context(), strings.Repeat("a", 40)+"b"); err == nil || !strings.Contains(err.Error(), "match the pattern ^(a+)+$") {
		t.Error(err)
	}
}

func TestManyFaults(t *testing.T) {
	t.Parallel()
	all := make([]any, 100_000)
	for i := range all {
		all[i] = json.Number(fmt.Sprint(i))
	}
	faults, err := compile(t, `{"items":{"type":"string"},"uniqueItems":true}`).Check(t.Context(), all)
	check.OK(t, err)
	if len(faults) != maxFaults {
		t.Errorf("%d faults", len(faults))
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, texts := range map[string][2][]string{
		"date-time": {{"2024-02-29T23:59:59Z", "2016-12-31t23:59:60.5z", "2024-01-01T00:00:00.123456789+05:30"}, {"2023-02-29T00:00:00Z", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00,5Z", "2024-01-01T24:00:00Z"}},
		"date":      {{"2024-02-29", "0001-01-01"}, {"2023-02-29", "2024-2-1", "20240101", ""}},
		"time":      {{"00:00:00Z", "23:59:60+00:00", "12:00:00.5-08:00"}, {"12:00", "24:00:00Z", "12:00:00"}},
		"email":     {{"a@example.com", "joe+x@sub.example.org"}, {"a", "a@", "@b", "A <a@example.com>", "a b@example.com"}},
		"ipv4":      {{"127.0.0.1"}, {"256.0.0.1", "1.2.3", "::1", "01.2.3.4"}},
		"ipv6":      {{"::1", "2001:db8::"}, {"1.2.3.4", "12345::", "::1%eth0"}},
		"uri":       {{"https://example.com/a?b#c", "urn:isbn:1", "mailto:a@b"}, {"/a", "a b", "http://a b", "://"}},
		"uuid":      {{"2EB8AA08-AA98-11EA-B4AA-73B441D16380"}, {"2eb8aa08aa9811eab4aa73b441d16380", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}", "x"}},
		"unknown":   {{"anything"}, nil},
	} {
		s := compile(t, `{"format":"`+format+`"}`)
		for i, valid := range []bool{true, false} {
			for _, text := range texts[i] {
				faults, err := s.Check(t.Context(), text)
				if err != nil || (len(faults) == 0) != valid {
					t.Errorf("%s %q: valid is %t; %v, %v", format, text, valid, faults, err)
				}
			}
		}
	}
}

func compile(t *testing.T, schema string) *Schema {
	t.Helper()
	s, err := Compile(read(t, schema))
	check.OK(t, err)
	return s
}

func read(t *testing.T, text string) (v any) {
	t.Helper()
	decode(t, text, &v)
	return v
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	check.OK(t, d.Decode(v))
}
