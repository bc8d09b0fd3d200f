package http

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

func interrupt(g *harness.Gateway, key string, statuses ...int) harness.Answer {
	g.T.Helper()
	return g.Must("POST", "/channels/"+harness.Escaped(key)+"/interrupt", nil, statuses...)
}

func TestResetForgetsTheSessionAndKeepsTheHistory(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	old := g.Say("http", "echo secret").Str("session_id")
	host := m.Hosts()["http"]
	if a := g.Must("DELETE", "/channels/http", nil, 200); a.Str("status") != "reset" || a.Str("channel") != "http" {
		t.Errorf("reset says %s", a.Body)
	}
	if proc.Alive(host.PID, host.Start) || proc.Alive(host.ClaudePID, host.ClaudeStart) {
		t.Errorf("processes of the old session are alive: %+v", host)
	}
	if id, ok := sessionFile(m)["http"]; ok {
		t.Errorf("session file still has %s", id)
	}
	a := g.Say("http", "history")
	if strings.Contains(a.Str("text"), "secret") || a.Str("session_id") == old || a.JSON["notices"] != nil {
		t.Errorf("after the reset: %s", a.Body)
	}
	if n := len(g.Must("GET", "/channels/http/messages", nil, 200).Array("messages")); n != 2 {
		t.Errorf("%d messages in the history, want 2", n)
	}
	g.Balanced()
}

// The least recently used session makes room; what finds none that can waits.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_MAX_SESSIONS=1")
	g := m.Start()
	g.Say("a", "echo one")
	g.Say("b", "echo two").Want(t, "two")
	g.Eventually("nothing but that one is left", func() bool { hosts := g.Hosts(); return len(hosts) == 1 && hosts["b"].PID != 0 })
	held, finish := g.Occupy("b")
	id := g.Tell("a", "echo three")
	g.Eventually("the message says why it waits", func() bool {
		return strings.Contains(g.Must("GET", "/messages/"+id, nil, 200).Str("why"), "BARECLAW_MAX_SESSIONS")
	})
	if st := g.Channel("a").Str("state"); st != "waiting" {
		t.Errorf("channel is %s", st)
	}
	finish()
	g.Outcome(held)
	g.Outcome(id).Want(t, "three")
	g.Balanced()
}
