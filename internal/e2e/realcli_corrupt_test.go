package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestRealTranscriptThatIsDamaged resumes conversations whose record is spoilt:
// what claude can still read is kept, and otherwise a fresh session begins, which
// is told once.
func TestRealTranscriptThatIsDamaged(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		damage func(whole []byte) []byte
		fresh  bool
	}{
		"empty":    {func([]byte) []byte { return nil }, true},
		"garbage":  {func(whole []byte) []byte { return bytes.Repeat([]byte{0, 0xff, 'x', '\n'}, len(whole)/64) }, true},
		"not ours": {func([]byte) []byte { return []byte("{}\n[]\n1\n{\"type\":\"user\"}\n") }, true},
		"cut":      {func(whole []byte) []byte { return whole[:len(whole)/2] }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newRealMachine(t)
			g := m.start()
			before := g.say("http", "echo before")
			g.end("http")
			m.damageTranscripts(at.damage)
			g = m.start()
			a := g.say("http", "history")
			g.mentions(a, "history")
			if fresh := a.str("session_id") != before.str("session_id"); fresh != at.fresh || fresh != strings.Contains(fmt.Sprint(a.json["notices"]), "fresh_session") {
				t.Errorf("session was %s, want a fresh one: %v\n%s", before.str("session_id"), at.fresh, a.body)
			}
			if at.fresh {
				m.eventually("the log names the lost session", func() bool {
					return strings.Contains(m.log.String(), `"old_session":"`+before.str("session_id"))
				})
			}
			again := g.say("http", "echo again")
			again.want(t, "again")
			if again.json["notices"] != nil || again.str("session_id") != a.str("session_id") {
				t.Errorf("it is told twice, or the session is not kept: %s", again.body)
			}
			g.balanced()
		})
	}
}

func (m *realMachine) damageTranscripts(damage func(whole []byte) []byte) {
	m.t.Helper()
	files := m.glob("home/claude-config/projects/*/*.jsonl")
	if len(files) == 0 {
		m.t.Fatal("there is no transcript")
	}
	for _, f := range files {
		whole, err := os.ReadFile(f)
		if err != nil {
			m.t.Fatal(err)
		}
		if err := os.WriteFile(f, damage(whole), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
}
