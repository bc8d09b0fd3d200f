package view

import (
	"testing"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/internal/mdtext"
)

// What somebody else has written is shown as it is, whatever it would mean.
func TestTextsMeanNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"plain words", "*a* _b_ __c__ ~~d~~ ||e|| `f` ``g`` [h](http://i.example)", "# no heading", "- no list", "1. no list", "> no quote",
		"<b>&amp;</b>", "a\\b", "``` no fence", "`", "``", "$x$ | y", "http://example.com/a_b_c", "_", "a_", "_a_", "a*", "**",
		`\(a\) \[b\] $\x$ $$y$$`, "(a) [b]",
	} {
		if got := markdown.Render(mdtext.Literal(text)); got.Text != text || len(got.Entities) != 0 {
			t.Errorf("literal %q shows as %q with %+v", text, got.Text, got.Entities)
		}
		if got := markdown.Render(Status(nil, text)); got.Text != text || len(got.Entities) != 1 || got.Entities[0].Type != "italic" {
			t.Errorf("status %q shows as %q with %+v", text, got.Text, got.Entities)
		}
		got := markdown.Render("x " + mdtext.Code(text))
		if got.Text != "x "+text || len(got.Entities) != 1 || got.Entities[0].Type != "code" {
			t.Errorf("code %q shows as %q with %+v", text, got.Text, got.Entities)
		}
	}
}
