package toolhost

import (
	"slices"
	"testing"

	"bareclaw/toolhost/builtin"
)

// TestBuiltinNames: the names that are known before a tool host runs are those of its tools.
func TestBuiltinNames(t *testing.T) {
	t.Parallel()
	var want []string
	for _, tool := range builtin.Tools() {
		want = append(want, tool.Name)
	}
	if got := BuiltinNames(); !slices.Equal(got, want) {
		t.Errorf("the names are %q, and the tools' names %q", got, want)
	}
}
