package schema

import (
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// Generated values fit the schema; Generate itself checks them.
func TestGenerate(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{}`,
		`{"type":"null"}`,
		`{"type":["integer","null"]}`,
		`{"const":{"a":[1]}}`,
		`{"enum":[1,"a",null]}`,
		`{"allOf":[{"enum":[1,2,3]},{"enum":[3,4]}]}`,
		`{"type":"integer","minimum":9007199254740993,"maximum":9007199254740993}`,
		`{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":3}`,
		`{"type":"integer","multipleOf":7,"minimum":100,"maximum":110}`,
		`{"type":"integer","multipleOf":0.5}`,
		`{"multipleOf":0.01,"minimum":0.333,"maximum":0.345}`,
		`{"allOf":[{"multipleOf":4},{"multipleOf":6}],"maximum":-1}`,
		`{"type":"number","minimum":0.0001,"maximum":0.0002}`,
		`{"type":"number","multipleOf":1e300}`,
		`{"type":"string","minLength":40,"maxLength":41}`,
		`{"type":"string","maxLength":0}`,
		`{"type":"string","pattern":"^[A-Z]{2}-\\d{4}(a|b)?$"}`,
		`{"type":"string","pattern":"^[a-z]+$","minLength":3,"maxLength":4}`,
		`{"type":"string","format":"date-time"}`,
		`{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2,"uniqueItems":true}`,
		`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false,"minItems":2,"maxItems":2}`,
		`{"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"null"},"minItems":3}`,
		`{"contains":{"const":7},"minContains":2}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":false},"required":["a","c"],"additionalProperties":{"type":"integer"}}`,
		`{"type":"object","minProperties":3,"maxProperties":3,"patternProperties":{"^x[0-9]{3}$":{"type":"integer"}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{},"b":{},"c":{}},"maxProperties":1}`,
		`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"dependentRequired":{"a":["b"]}}`,
		`{"oneOf":[{"type":"string","maxLength":3},{"type":"integer"}]}`,
		`{"properties":{"kind":{"enum":["a","b"]}},"required":["kind"],"if":{"properties":{"kind":{"const":"a"}}},"then":{"required":["x"]},"else":{"required":["y"]}}`,
		`{"not":{"type":"string"},"type":["string","integer"]}`,
		`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"all":{"type":"array","items":{"$ref":"#"}}},"required":["all"]}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"type":"boolean"}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":1}`,
	} {
		s := compile(t, schema)
		for range 20 {
			if _, err := s.Generate(t.Context(), words); err != nil {
				t.Errorf("%s: %v", schema, err)
			}
		}
	}
}

func TestGenerateNothing(t *testing.T) {
	t.Parallel()
	for schema, says := range map[string]string{
		`{"not":{}}`: "no value that fits the schema was found",
		`false`:      "nothing fits the schema false",
		`{"type":"integer","minimum":2,"maximum":1}`:                                "no number is possible",
		`{"type":"integer","minimum":0.1,"maximum":0.9}`:                            "no number is possible",
		`{"type":"integer","minimum":1e-999999999}`:                                 "schema at /minimum: is out of range",
		`{"minLength":2,"maxLength":1,"type":"string"}`:                             "cannot be reached",
		`{"minItems":1000000000,"type":"array"}`:                                    "cannot be reached",
		`{"type":"array","minItems":9999,"items":{"type":"array","minItems":9999}}`: "more than 100000 parts",
		`{"pattern":"^(?=a)b","type":"string"}`:                                     "no text can be made for the pattern",
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`:        "deeper than 64",
		`{"allOf":[{"type":"string"},{"type":"null"}]}`:                             "no type is allowed",
		`{"anyOf":[{"$ref":"#"}]}`:                                                  "refers to itself without end",
	} {
		if v, err := compile(t, schema).Generate(t.Context(), words); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v; want %q", schema, v, err, says)
		}
	}
}

// The texts for a format are taken as they are.
func TestGenerateFormat(t *testing.T) {
	t.Parallel()
	got, err := compile(t, `{"type":"string","format":"email"}`).Generate(t.Context(), words)
	check.OK(t, err)
	if got != "somebody.with.a.long.name@example.com" {
		t.Errorf("%v", got)
	}
}

func words(format string) string {
	switch format {
	case "email":
		return "somebody.with.a.long.name@example.com"
	case "date-time":
		return "2024-02-29T12:00:00Z"
	}
	return "word"
}
