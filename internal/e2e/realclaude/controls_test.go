package realclaude

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
)

// TestRealClaudePassesColoursOn pipes the coloured output of a program through the real
// CLI: the model gets its control characters as they are, and its own come back.
func TestRealClaudePassesColoursOn(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t)
	m.Start()
	const text = harness.Coloured + " \b\v\f\x7f" + "end"
	m.Invoke(strings.NewReader("echo "+text+"\n"), "send", harness.ColourChannel, "-").Ends(exitcode.OK).Prints(text + "\n")
	all := m.Requests()
	if got := all[len(all)-1].Text; !strings.HasSuffix(got, "echo "+text) {
		t.Errorf("the model is told %q, want %q at its end", got, text)
	}
}
