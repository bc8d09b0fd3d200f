package e2e

import (
	"strings"
	"testing"

	"bareclaw/internal/exitcode"
)

// TestRealClaudePassesColoursOn pipes the coloured output of a program through the real
// CLI: the model gets its control characters as they are, and its own come back.
func TestRealClaudePassesColoursOn(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	m.start()
	const text = coloured + " \b\v\f\x7f" + "end"
	m.invoke(strings.NewReader("echo "+text+"\n"), "send", colourChannel, "-").ends(exitcode.OK).prints(text + "\n")
	all := m.Requests()
	if got := all[len(all)-1].Text; !strings.HasSuffix(got, "echo "+text) {
		t.Errorf("the model is told %q, want %q at its end", got, text)
	}
}
