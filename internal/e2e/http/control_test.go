package http

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

func interrupt(g *harness.Gateway, key string, statuses ...int) harness.Answer {
	g.T.Helper()
	return g.Must("POST", "/channels/"+harness.Escaped(key)+"/interrupt", nil, statuses...)
}

func TestResetForgetsTheSessionAndKeepsTheHistory(t *testing.T) {
	m, g := harness.Started(t)
	old := g.Say("http", "echo secret").Str("session_id")
	host := m.Hosts()["http"]
	if a := g.Must("DELETE", "/channels/http", nil, 200); a.Str("status") != "reset" || a.Str("channel") != "http" {
		t.Errorf("reset says %s", a.Body)
	}
	m.HostEnded(host)
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
