package realclaude

import (
	"os"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// TestRealModelAndMode resumes one session with another model and another permission
// mode, and without. The CLI remembers a model, and the mode plan.
func TestRealModelAndMode(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_APPROVALS=ask", "BARECLAW_ALLOWED_TOOLS=Read")
	first := g.Say("http", "echo one")
	own := m.Last().Model
	write := func() string { return "tool:Write " + `{"file_path":"` + m.Path("work/made") + `","content":"x"}` }

	g.Patch(harness.Obj{"model": "haiku", "permission_mode": "acceptEdits"})
	g.Mentions(g.Say("http", write()), "created successfully")
	if now := m.Last().Model; !strings.Contains(now, "haiku") || now == own {
		t.Errorf("model is %s, was %s", now, own)
	}
	g.Patch(harness.Obj{"permission_mode": "plan"})
	said := g.Watch("http")
	g.Mentions(g.Say("http", "history"), "echo one")
	g.Hear(said, `"permissionMode":"plan"`)

	check.OK(t, os.Remove(m.Path("work/made")))
	g.Patch(harness.Obj{"model": "", "permission_mode": ""})
	said = g.Watch("http")
	id := g.Tell("http", write())
	g.Decide(g.Asked(1)[0], map[string]any{"behavior": "deny"})
	g.Outcome(id)
	g.Hear(said, `"permissionMode":"default"`)
	if now := m.Last().Model; now != own {
		t.Errorf("model is %s after it was taken back, was %s", now, own)
	}
	if last := g.Say("http", "echo two"); last.Str("session_id") != first.Str("session_id") {
		t.Errorf("the conversation went from %s to %s", first.Str("session_id"), last.Str("session_id"))
	}
	g.Balanced()
}

// TestRealBadSettings sets what the CLI, or the API, refuses: the reply says how that
// is undone, and it is undone by that.
func TestRealBadSettings(t *testing.T) {
	_, g := harness.StartReal(t)
	g.Must("PATCH", "/channels/http", harness.Obj{"model": "nonsense-9"}, 200)
	a := g.Say("http", "error 404 model=nonsense-9")
	g.Failed(a, "failed", "bad_model")
	g.Mentions(a, `"nonsense-9"`, "PATCH /channels/")
	g.Patch(harness.Obj{"model": ""})
	g.Say("http", "echo works").Want(t, "works")
	if os.Geteuid() != 0 {
		roottest.Unavailable(t, "every permission mode is allowed but for root")
	}
	g.Patch(harness.Obj{"permission_mode": "bypassPermissions"})
	a = g.Say("http", "echo never")
	g.Mentions(a, "root", `"bypassPermissions"`, "PATCH /channels/")
	g.Must("PATCH", "/channels/http", harness.Obj{"permission_mode": ""}, 200)
	g.Say("http", "echo works again").Want(t, "works again")
	g.Balanced()
}

// TestRealAllowAlways allows calls for ever: the process does not ask again, nor does
// the one that resumes the session, in which other calls are asked about as before.
func TestRealAllowAlways(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_ALLOWED_TOOLS=Read", "BARECLAW_APPROVALS=ask")
	for _, call := range []string{
		`tool:bash touch "f (1), a.txt"`,
		`tool:Write {"file_path":"` + m.Path("outside.txt") + `","content":"x"}`,
	} {
		id := g.Tell("http", call)
		g.Decide(g.Asked(1)[0], map[string]any{"behavior": "allow", "always": true})
		g.Mentions(g.Outcome(id), "final after 1 call(s)")
		g.Mentions(g.Say("http", call), "final after 1 call(s)")
	}
	if files := m.Glob("work/.claude/*"); len(files) != 0 {
		t.Errorf("rules were written to %v", files)
	}
	pid := g.Agent("http")
	h := m.Hosts()["http"]
	m.Slay(h.Host(), h.Claude())
	for _, call := range []string{
		`tool:bash touch "f (1), a.txt"`,
		`tool:Write {"file_path":"` + m.Path("another.txt") + `","content":"x"}`,
	} {
		g.Mentions(g.Say("http", call), "final after 1 call(s)")
	}
	if g.Agent("http") == pid || !m.Exists("another.txt") {
		t.Errorf("claude is %v, was %v; file was written: %v", g.Agent("http"), pid, m.Exists("another.txt"))
	}
	id := g.Tell("http", "tool:bash touch b")
	g.Decide(g.Asked(1)[0], map[string]any{"behavior": "deny"})
	g.Outcome(id)
	g.Balanced()
}
