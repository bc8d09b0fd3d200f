package markdown

import (
	"strings"
	"testing"

	"bareclaw/internal/dialect"
)

// TestHostileSizes renders texts made to be slow or to become large. Nothing of
// it is measured; a text that takes minutes fails the test by its time limit.
func TestHostileSizes(t *testing.T) {
	t.Parallel()
	const n = 5000
	for name, source := range map[string]string{
		"quotes":        strings.Repeat("> ", n) + "a" + strings.Repeat("\nb", n),
		"lists":         strings.Repeat("- ", n) + "a" + strings.Repeat("\nb", n),
		"deep quotes":   strings.Repeat("> ", dialect.MaxDepth) + "a" + strings.Repeat("\nb", n),
		"deep lists":    strings.Repeat("1. ", dialect.MaxDepth) + "a" + strings.Repeat("\nb", n),
		"numbers":       strings.Repeat("1) - ", 10*n) + "a",
		"brackets":      strings.Repeat("[", n) + strings.Repeat("](a)", n),
		"stars":         strings.Repeat("*a **b ", n),
		"pipes":         strings.Repeat("|a", n) + "|\n" + strings.Repeat("|-", n) + "|\n" + strings.Repeat("|\n", n),
		"bold lines":    strings.Repeat("**a** b\n", 10*n),
		"backticks":     strings.Repeat("`a``b", n),
		"formulas":      strings.Repeat(`\(a $b\c \[d `, 2*n),
		"formula lines": strings.Repeat("$$\n", n) + strings.Repeat("\\[\n", n),
		"numbered":      strings.Repeat("7. a\n9. b\n", n),
		"control":       strings.Repeat("\x1b]", n) + strings.Repeat("\x1b[3", n),
		"references":    strings.Repeat("&amp;", n),
		"combining":     "a" + strings.Repeat("\u0301", 2*n),
		"spaces":        strings.Repeat(" ", 10*n) + "a",
		"invisible":     strings.Repeat("\u200b", 4*n) + "a",
		"lines of code": "```\n" + strings.Repeat(" \n", 4*n) + "a\n```",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Render(source)
			if len(d.Text) > 40*len(source) {
				t.Errorf("%d bytes became %d", len(source), len(d.Text))
			}
			checkSplit(t, d, MaxUnits)
			checkSplit(t, RenderPartial(source), MaxUnits)
		})
	}
}
