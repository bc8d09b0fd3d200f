package e2e

import (
	"os"
	"strings"
	"testing"

	"bareclaw/internal/testkit/roottest"
)

// model returns which model the API was asked for last.
func (m *realMachine) model() string {
	all := m.Requests()
	return all[len(all)-1].Model
}

// patch changes the channel's settings and waits until its claude has ended: what was
// started otherwise is of no use.
func (g *realGateway) patch(settings obj) {
	g.t.Helper()
	g.must("PATCH", "/channels/http", settings, 200)
	g.m.eventually("claude has ended", func() bool { return g.agent("http") == 0 })
}

// TestRealModelAndMode resumes one session with another model and another permission
// mode, and without. The CLI remembers a model, and the mode plan.
func TestRealModelAndMode(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_APPROVALS=ask", "BARECLAW_ALLOWED_TOOLS=Read")
	g := m.start()
	first := g.say("http", "echo one")
	own := m.model()
	write := func() string { return "tool:Write " + `{"file_path":"` + m.path("work/made") + `","content":"x"}` }

	g.patch(obj{"model": "haiku", "permission_mode": "acceptEdits"})
	g.mentions(g.say("http", write()), "created successfully")
	if now := m.model(); !strings.Contains(now, "haiku") || now == own {
		t.Errorf("model is %s, was %s", now, own)
	}
	g.patch(obj{"permission_mode": "plan"})
	said := g.watch("http")
	g.mentions(g.say("http", "history"), "echo one")
	g.hear(said, `"permissionMode":"plan"`)

	if err := os.Remove(m.path("work/made")); err != nil {
		t.Fatal(err)
	}
	g.patch(obj{"model": "", "permission_mode": ""})
	said = g.watch("http")
	id := g.tell("http", write())
	g.decide(g.pending(), map[string]any{"behavior": "deny"})
	g.outcome(id)
	g.hear(said, `"permissionMode":"default"`)
	if now := m.model(); now != own {
		t.Errorf("model is %s after it was taken back, was %s", now, own)
	}
	if last := g.say("http", "echo two"); last.str("session_id") != first.str("session_id") {
		t.Errorf("the conversation went from %s to %s", first.str("session_id"), last.str("session_id"))
	}
	g.balanced()
}

// TestRealBadSettings sets what the CLI, or the API, refuses: the reply says how that
// is undone, and it is undone by that.
func TestRealBadSettings(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	g.must("PATCH", "/channels/http", obj{"model": "nonsense-9"}, 200)
	a := g.say("http", "error 404 model=nonsense-9")
	g.failed(a, "failed", "bad_model")
	g.mentions(a, `"nonsense-9"`, "PATCH /channels/")
	g.patch(obj{"model": ""})
	g.say("http", "echo works").want(t, "works")
	if os.Geteuid() != 0 {
		roottest.Unavailable(t, "every permission mode is allowed but for root")
	}
	g.patch(obj{"permission_mode": "bypassPermissions"})
	a = g.say("http", "echo never")
	g.mentions(a, "root", `"bypassPermissions"`, "PATCH /channels/")
	g.must("PATCH", "/channels/http", obj{"permission_mode": ""}, 200)
	g.say("http", "echo works again").want(t, "works again")
	g.balanced()
}

// TestRealAllowAlways allows calls for ever: the process does not ask again, nor does
// the one that resumes the session, in which other calls are asked about as before.
func TestRealAllowAlways(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_ALLOWED_TOOLS=Read", "BARECLAW_APPROVALS=ask")
	g := m.start()
	for _, call := range []string{
		`tool:bash touch "f (1), a.txt"`,
		`tool:Write {"file_path":"` + m.path("outside.txt") + `","content":"x"}`,
	} {
		id := g.tell("http", call)
		g.decide(g.pending(), map[string]any{"behavior": "allow", "always": true})
		g.mentions(g.outcome(id), "final after 1 call(s)")
		g.mentions(g.say("http", call), "final after 1 call(s)")
	}
	if files := m.glob("work/.claude/*"); len(files) != 0 {
		t.Errorf("rules were written to %v", files)
	}
	pid := g.agent("http")
	h := m.hosts()["http"]
	m.slay(h.host(), h.claude())
	for _, call := range []string{
		`tool:bash touch "f (1), a.txt"`,
		`tool:Write {"file_path":"` + m.path("another.txt") + `","content":"x"}`,
	} {
		g.mentions(g.say("http", call), "final after 1 call(s)")
	}
	if g.agent("http") == pid || !m.exists("another.txt") {
		t.Errorf("claude is %v, was %v; file was written: %v", g.agent("http"), pid, m.exists("another.txt"))
	}
	id := g.tell("http", "tool:bash touch b")
	g.decide(g.pending(), map[string]any{"behavior": "deny"})
	g.outcome(id)
	g.balanced()
}
