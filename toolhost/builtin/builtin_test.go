package builtin

import (
	"encoding/json"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"bareclaw/core/tools"
	"bareclaw/internal/plainjson"
	"bareclaw/internal/testkit/check"
)

// A testCase is one call of a tool, in testdata/<tool>.json. Scripts beside it write the cases;
// they compute what is wanted in another language.
type testCase struct {
	Name  string          `json:"name"`
	Args  json.RawMessage `json:"args"`
	Want  any             `json:"want"`  // the whole result
	Has   any             `json:"has"`   // a part of the result: members that objects have, among others
	Error string          `json:"error"` // a part of the error
}

// checks returns the tests of results that are not the same each time. They run for all cases of a
// tool that end with a result.
func checks() map[string]func(t *testing.T, args, result map[string]any) {
	return map[string]func(t *testing.T, args, result map[string]any){
		"array_operations": checkShuffle,
		"date_utils":       checkNow,
		"env_info":         checkEnvironment,
		"random_choice":    checkChoice,
		"timestamp_now":    checkTimestamp,
		"data_generate":    checkGenerated,
		"data_from_schema": checkFitting,
		"data_edge_cases":  checkEdgeCases,
	}
}

// registryOf returns a registry with the built-in tools.
func registryOf(t *testing.T) *tools.Registry {
	t.Helper()
	registry, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{tools.Fixed("builtin", Tools()...)},
	})
	check.OK(t, err)
	return registry
}

func TestTools(t *testing.T) {
	t.Parallel()
	registry := registryOf(t)
	for _, tool := range Tools() {
		t.Run(tool.Name, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(filepath.Join("testdata", tool.Name+".json"))
			check.OK(t, err)
			var cases []testCase
			check.OK(t, decode(b, &cases))
			if len(cases) < 5 {
				t.Errorf("%d cases are too few", len(cases))
			}
			output := resolve(t, tool.Output)
			for _, c := range cases {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					runCase(t, registry, output, tool.Name, c)
				})
			}
		})
	}
}

func runCase(t *testing.T, registry *tools.Registry, output *jsonschema.Resolved, tool string, c testCase) {
	t.Helper()
	got, err := registry.Call(t.Context(), tool, tools.Call{Args: c.Args})
	check.OK(t, err)
	if got.IsError || c.Error != "" {
		if !got.IsError || c.Error == "" || !strings.Contains(got.Text, c.Error) {
			t.Errorf("error %q, result %s; want the error %q", got.Text, got.Structured, c.Error)
		}
		return
	}
	var plain, result any
	check.OK(t, json.Unmarshal(got.Structured, &plain))
	if err := output.Validate(plain); err != nil {
		t.Errorf("%s does not fit the output schema: %v", got.Structured, err)
	}
	check.OK(t, decode(got.Structured, &result))
	if c.Want != nil && !same(result, c.Want, false) {
		t.Errorf("got\n%s, want\n%s", got.Structured, must(plainjson.Marshal(c.Want)))
	}
	if c.Has != nil && !same(result, c.Has, true) {
		t.Errorf("got\n%s, want among others\n%s", got.Structured, must(plainjson.Marshal(c.Has)))
	}
	verify := checks()[tool]
	if verify != nil {
		var args map[string]any
		check.OK(t, decode(c.Args, &args))
		verify(t, args, result.(map[string]any))
	}
	if c.Want == nil && c.Has == nil && verify == nil {
		t.Error("the case wants nothing")
	}
}

func resolve(t *testing.T, schema json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	check.OK(t, json.Unmarshal(schema, &s))
	if s.Type != "object" {
		t.Errorf("the type of the output is %q", s.Type)
	}
	r, err := s.Resolve(nil)
	check.OK(t, err)
	return r
}

// same reports whether two values are the same, numbers but for the last digits of fractions. With
// partly, objects of want need not have all members.
func same(got, want any, partly bool) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok || !partly && len(got) != len(want) {
			return false
		}
		for name, w := range want {
			if g, ok := got[name]; !ok || !same(g, w, partly) {
				return false
			}
		}
		return true
	case []any:
		got, ok := got.([]any)
		return ok && slices.EqualFunc(got, want, func(g, w any) bool { return same(g, w, partly) })
	case json.Number:
		got, ok := got.(json.Number)
		return ok && sameNumber(got, want)
	default:
		return got == want
	}
}

func sameNumber(got, want json.Number) bool {
	if got == want {
		return true
	}
	g, gotErr := got.Float64()
	w, wantErr := want.Float64()
	integers := !strings.ContainsAny(string(got+want), ".eE")
	return gotErr == nil && wantErr == nil && !integers && math.Abs(g-w) <= 1e-9*max(1, math.Abs(w))
}

func TestAllTools(t *testing.T) {
	t.Parallel()
	all := Tools()
	if len(all) != 35 {
		t.Errorf("%d tools", len(all))
	}
	for _, tool := range all {
		if tool.Description == "" || !tool.Annotations.ReadOnly {
			t.Errorf("%s has no description, or is not read-only", tool.Name)
		}
		for _, raw := range []json.RawMessage{tool.Input, tool.Output} {
			var schema any
			check.OK(t, json.Unmarshal(raw, &schema))
			if hasBareProperty(schema) {
				t.Errorf("%s: the schema of a property is true or false, which clients refuse: %s", tool.Name, raw)
			}
		}
	}
}

func hasBareProperty(schema any) bool {
	switch schema := schema.(type) {
	case []any:
		return slices.ContainsFunc(schema, hasBareProperty)
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for _, p := range properties {
			if _, ok := p.(map[string]any); !ok {
				return true
			}
		}
		for _, child := range schema {
			if hasBareProperty(child) {
				return true
			}
		}
	}
	return false
}
