package term

import (
	"slices"
	"testing"
)

func TestLinesEndBetweenWords(t *testing.T) {
	t.Parallel()
	rows := []struct {
		text  string
		width int
		lines []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"in /a/path/longer/than/it there", 10, []string{"in", "/a/path/longer/than/it", "there"}},
		{"run `a b --c`, then go", 10, []string{"run", "`a b --c`,", "then go"}},
		{"run `a b --c d`, or `e f`", 6, []string{"run", "`a b --c d`,", "or", "`e f`"}},
		{"a ` alone of its kind", 8, []string{"a `", "alone of", "its kind"}},
		{"日本 日本 日本", 9, []string{"日本 日本", "日本"}},
	}
	for _, row := range rows {
		if got := Wrap(row.text, row.width); !slices.Equal(got, row.lines) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", row.text, row.width, got, row.lines)
		}
	}
}
