package realclaude

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestRealTranscriptThatIsDamaged resumes conversations whose record is spoilt or gone:
// what claude can still read is kept, and otherwise a fresh session begins, which
// is told once.
func TestRealTranscriptThatIsDamaged(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		damage func(whole []byte) []byte
		fresh  bool
	}{
		"gone":     {nil, true},
		"empty":    {func([]byte) []byte { return nil }, true},
		"garbage":  {func(whole []byte) []byte { return bytes.Repeat([]byte{0, 0xff, 'x', '\n'}, len(whole)/64) }, true},
		"not ours": {func([]byte) []byte { return []byte("{}\n[]\n1\n{\"type\":\"user\"}\n") }, true},
		"cut":      {func(whole []byte) []byte { return whole[:len(whole)/2] }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, g := harness.StartReal(t)
			before := g.Say("http", "echo before")
			g.End("http")
			if at.damage != nil {
				m.DamageTranscripts(at.damage)
			} else if err := os.RemoveAll(m.Path("home/claude-config/projects")); err != nil {
				t.Fatal(err)
			}
			g = m.Start()
			a := g.Say("http", "history")
			g.Mentions(a, "history")
			if fresh := a.Str("session_id") != before.Str("session_id"); fresh != at.fresh || fresh != strings.Contains(fmt.Sprint(a.JSON["notices"]), "fresh_session") {
				t.Errorf("session was %s, want a fresh one: %v\n%s", before.Str("session_id"), at.fresh, a.Body)
			}
			if at.fresh {
				m.Eventually("the log names the lost session", func() bool {
					return strings.Contains(m.Log.String(), `"old_session":"`+before.Str("session_id"))
				})
			}
			again := g.Say("http", "echo again")
			again.Want(t, "again")
			if again.JSON["notices"] != nil || again.Str("session_id") != a.Str("session_id") {
				t.Errorf("it is told twice, or the session is not kept: %s", again.Body)
			}
			g.Balanced()
		})
	}
}
