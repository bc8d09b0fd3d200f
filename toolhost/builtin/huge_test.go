package builtin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// TestHuge calls tools with arguments of megabytes, and with deep ones. Time and memory must not
// grow by the square of the size; a call that takes longer than its limit is an error.
func TestHuge(t *testing.T) {
	t.Parallel()
	const depth = 9000 // JSON of 10,000 levels is refused before
	nested := strings.Repeat(`[`, depth) + `"x"` + strings.Repeat(`]`, depth)
	name := strings.Repeat("n", 300)
	deep := func(leaf string) string {
		return strings.Repeat(`{"`+name+`":`, depth) + leaf + strings.Repeat(`}`, depth)
	}
	numbers := strings.TrimSuffix(strings.Repeat("0,", 200_000), ",")
	var steps strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&steps, `,{"id":"%d","steps":[{"action":"a%d"},{"action":"b"},{"action":"c"},{"action":"d"},{"action":"e"}]}`, i, i)
	}
	for _, c := range []struct{ tool, args, want string }{
		{"assert_equals", `{"actual":` + deep("1") + `,"expected":` + deep("2") + `}`, `is 1, expected 2`},
		{"assert_equals", `{"actual":` + nested + `,"expected":"x","strict":false}`, `"passed":true`},
		{"assert_equals", `{"actual":[` + numbers + `],"expected":[` + numbers + `,1]}`, `is an array of 200000, expected one of 200001`},
		{"assert_type", `{"value":[` + numbers + `],"expectedType":"array"}`, `"passed":true`},
		{"assert_contains", `{"text":"` + strings.Repeat("ab", 2_000_000) + `","substring":"BB"}`, `"passed":false`},
		{"assert_json_schema", `{"data":` + deep("1") + `,"schema":{"anyOf":[{"type":"string"},{"type":"integer"},{"additionalProperties":{"$ref":"#"}}]}}`, `"passed":true`},
		{"assert_json_schema", `{"data":` + deep("1.5") + `,"schema":{"type":["object","integer"],"additionalProperties":{"$ref":"#"}}}`, `must be one of`},
		{"assert_json_schema", `{"data":[` + numbers + `],"schema":{"uniqueItems":true,"items":{"type":"integer"}}}`, `0 and 1 are equal`},
		{"assert_json_schema", `{"data":1,"schema":` + strings.Repeat(`{"not":`, depth) + `{}` + strings.Repeat(`}`, depth) + `}`, `nested more than 500 deep`},
		{"json_validator", `{"data":{"a":[` + numbers + `]},"schema":{"properties":{"a":{"items":{"minimum":1}}}}}`, `/a/99`},
		{"test_deduplicate", `{"tests":[{"id":"x"}` + steps.String() + `],"similarityThreshold":0.6}`, `"pairCount":499500`},
		{"performance_regression", `{"baseline":[` + strings.TrimSuffix(strings.Repeat(`{"lcp":1},`, 50_000), ",") + `],"current":[{"lcp":1}]}`, `"hasRegression":false`},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			registry := registryOf(t)
			began := time.Now()
			got, err := registry.Call(t.Context(), c.tool, tools.Call{Args: []byte(c.args)})
			check.OK(t, err)
			if text := got.Text + string(got.Structured); !strings.Contains(text, c.want) || len(text) > 1<<20 {
				t.Errorf("%d bytes after %s: %.300s; want %s", len(text), time.Since(began), text, c.want)
			}
			t.Log(time.Since(began))
		})
	}
}
