package markdown

import (
	"strings"
	"testing"
)

func TestRenderPartial(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ partial, as string }{
		{"Some **bold te", "Some **bold te**"},
		{"Some **bold ", "Some **bold**"},
		{"a **b *c", "a **b *c***"},
		{"a *b", "a *b*"},
		{"~~gone", "~~gone~~"},
		{"||secret", "||secret||"},
		{"run `go te", "run `go te`"},
		{"**run `go te", "**run `go te`**"},
		{"done **a** and **b", "done **a** and **b**"},
		{"first **\n\nlast *x", "first **\n\nlast *x*"},
		{"2*3", "2*3"},
		{"2 * 3", "2 * 3"},
		{"a_b __init", "a_b \\_\\_init"},
		{"*.go files", "*.go files"},
		{"see [the docs](https://exam", "see the docs"},
		{"see ![img](htt", "see img"},
		{"see [the do", "see [the do"},
		{"and **", "and"},
		{"and `", "and"},
		{"**", ""},
		{"(**", "("},
		{"**bold*", "**bold**"},
		{"**bold**", "**bold**"},
		{"~~gone~", "~~gone~~"},
		{"see [x]", "see [x]"},
		{"text\n``", "text"},
		{"text\n```", "text"},
		{"text\n-", "text"},
		{"text\n- ", "text"},
		{"- a\n- [ ]", "- a"},
		{"text\n1.", "text"},
		{"text\n#", "text"},
		{"text\n==", "text"},
		{"text\n**", "text"},
		{"| a | b |\n|--", "| a | b |"},
		{"| a | b |\n|---|---|\n| 1", "| a | b |\n|---|---|\n| 1"},
		{"-", ""},
		{"```go\nx := **p", "```go\nx := **p"},
		{"```go\nx := `a", "```go\nx := `a"},
		{"a\n\n> quote **b", "a\n\n> quote **b**"},
		{"- item *b", "- item *b*"},
		{"red \x1b[31", "red"},
		{"red \x1b[31mt\x1b", "red t"},
		{"1. a\n5. b", "1. a\n5. b"},
		{"so \\(\\alpha", "so (\\alpha"},
		{"done.", "done."},
		{"", ""},
	} {
		d := RenderPartial(row.partial)
		checkSplit(t, d, MaxUnits)
		if got, want := show(d), show(Render(row.as)); got != want {
			t.Errorf("%q is\n%s\nwant, as %q,\n%s", row.partial, got, row.as, want)
		}
	}
}

// TestRenderPartialPrefixes streams an answer: it is always valid, what is
// complete is as it will be, and no marker shows at the end of it.
func TestRenderPartialPrefixes(t *testing.T) {
	t.Parallel()
	source := answer(1000)
	for i := 0; i < len(source); i += 3 {
		d := RenderPartial(source[:i])
		checkSplit(t, d, MaxUnits)
		whole := strings.LastIndex(source[:i], "\n\n## ")
		if whole > 0 && !strings.HasPrefix(d.Text, strings.TrimRight(Render(source[:whole]).Text, "\n")) {
			t.Fatalf("%q changed what was complete:\n%s", source[:i], d.Text)
		}
		line := d.Text[1+strings.LastIndexByte(d.Text, '\n'):]
		if strings.Contains(line, "**") || strings.Contains(line, "](") || strings.Contains(line, "`") {
			t.Errorf("%q shows its markers: %q", source[:i], line)
		}
	}
	if got, want := show(RenderPartial(source)), show(Render(source)); got != want {
		t.Errorf("complete, but\n%s\nwant\n%s", got, want)
	}
}
