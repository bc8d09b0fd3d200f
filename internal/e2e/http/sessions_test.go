package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// sessionFile returns what the session file holds.
func sessionFile(m *harness.Machine) map[string]string {
	m.T.Helper()
	b, err := os.ReadFile(m.Path("work/.bareclaw-sessions.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	check.OK(m.T, err)
	var ids map[string]string
	if err := json.Unmarshal(b, &ids); err != nil {
		m.T.Fatalf("session file %q: %v", b, err)
	}
	return ids
}

// crash ends the daemon, every host and every claude, all at once.
func crash(g *harness.Gateway) {
	g.T.Helper()
	g.Kill()
	g.EndHosts()
	g.Eventually("hosts are gone", func() bool { return len(g.Hosts()) == 0 })
}

func TestCorruptSessionFileIsSetAsideAndTold(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	const rubbish = `{"http": "0199`
	check.OK(t, os.WriteFile(m.Path("work/.bareclaw-sessions.json"), []byte(rubbish), 0o600))
	g := m.Start()
	health := g.Must("GET", "/health", nil, 200)
	problems, _ := health.JSON["problems"].([]any)
	if health.Str("status") != "degraded" || len(problems) != 1 || !strings.Contains(fmt.Sprint(problems[0]), ".bareclaw-sessions.json") {
		t.Errorf("health is %s", health.Body)
	}
	a := g.Say("http", "echo hello")
	a.Want(t, "hello")
	if got := sessionFile(m)["http"]; got != a.Str("session_id") {
		t.Errorf("session file has %q, want %q", got, a.Str("session_id"))
	}
	aside := m.Glob("work/.bareclaw-sessions.json.corrupt-*")
	if len(aside) != 1 {
		t.Fatalf("set aside: %q", aside)
	}
	if b, err := os.ReadFile(aside[0]); err != nil || string(b) != rubbish {
		t.Errorf("%s holds %q, %v", aside[0], b, err)
	}
	g.Balanced()
}
