package toolset

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Set{
		"": "", "  ": "", "all": All, "none": None, "a": "a", " a.b-c , json_format ": "a.b-c,json_format", "b,a,b": "b,a", strings.Repeat("x", MaxName): Set(strings.Repeat("x", MaxName)),
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"a,,b", ",", "two words", "mcp__bareclaw__*", "all,a", "a,none", strings.Repeat("x", MaxName+1), strings.Repeat("ab,", maxSet)} {
		if got, err := Parse(text); err == nil || len(err.Error()) > 300 {
			t.Errorf("Parse(%.40q) = %.40q, %v", text, got, err)
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	for set, want := range map[Set]struct {
		a, b  bool
		names string
	}{"": {}, None: {}, All: {a: true, b: true}, "a": {a: true, names: "a"}, "b,a": {a: true, b: true, names: "b a"}, "ab": {names: "ab"}} {
		if set.Has("a") != want.a || set.Has("b") != want.b {
			t.Errorf("%q has a: %v, and b: %v", set, set.Has("a"), set.Has("b"))
		}
		if got := strings.Join(slices.Collect(set.Names()), " "); got != want.names {
			t.Errorf("%q names %q", set, got)
		}
	}
}
