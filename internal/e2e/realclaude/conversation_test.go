package realclaude

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/e2e/harness"
	"bareclaw/sessionhost/protocol"
)

func TestRealClaudeIsToldWhoSpeaksAndInheritsNothingItShouldNot(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t, "CLAUDE_CODE_SIMPLE=1", "CLAUDE_CODE_SESSION_ID=stale", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1",
		"CLAUDECODE=1", "ANTHROPIC_AUTH_TOKEN=secret", "NOTIFY_SOCKET=/nowhere", "TOOLS_NEED=this")
	g := m.Start()
	a := g.Must("POST", "/message", map[string]any{
		"channel": "tg-7", "text": "tool:bash env > " + m.Path("environ"),
		"context": map[string]string{"user": "Ann [x]", "chat": "Tea", "topic": "2"},
	}, 200)
	g.Mentions(a, "final after 1 call(s)")
	r := m.Requests()[0]
	if want := "[channel: tg-7, adapter: http, user: Ann (x), chat: Tea, topic: 2]\ntool:bash"; !strings.HasPrefix(r.Text, want) {
		t.Errorf("claude was told %q, want it to begin with %q", r.Text, want)
	}
	if s := "You are reached through BAREclaw"; !strings.Contains(r.System, s) {
		t.Errorf("system prompt does not mention %q", s)
	}
	if len(r.Tools) < 8 || !slices.Contains(r.Tools, "Bash") || !slices.Contains(r.Tools, "AskUserQuestion") {
		t.Errorf("tools offered: %q", r.Tools)
	}
	environ := m.Lines("environ")
	for _, want := range []string{"TOOLS_NEED=this", "ANTHROPIC_API_KEY=sk-ant-dummy-key", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", client.SocketVariable + "=" + m.Path("run/api.sock")} {
		if !slices.Contains(environ, want) {
			t.Errorf("environment of a tool lacks %s", want)
		}
	}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "BARECLAW_") && name != protocol.EnvMarkVariable && name != client.SocketVariable || name == "CLAUDE_CODE_SIMPLE" || name == "CLAUDE_CODE_RESUME_INTERRUPTED_TURN" ||
			name == "ANTHROPIC_AUTH_TOKEN" || name == "NOTIFY_SOCKET" || value == "stale" {
			t.Errorf("a tool sees %s", e)
		}
	}
	g.Balanced()
}

func TestRealTooManyTurns(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_MAX_TURNS=2")
	id := g.Tell("http", "tools:bash 5 "+m.Waiting("begun", "go", "done"))
	m.Eventually("tool runs", func() bool { return len(m.Lines("begun")) == 1 })
	pid := g.Agent("http")
	second, third := g.Tell("http", "echo second"), g.Tell("http", "echo third")
	m.Touch("go")
	first := g.Outcome(id)
	g.Failed(first, "failed", "max_turns")
	g.Mentions(first, "BARECLAW_MAX_TURNS", "Send another message")
	a := g.Outcome(third)
	a.Want(t, "second")
	if b := g.Outcome(second); !b.Flag("coalesced") || b.Str("into") != third || b.Flag("is_error") {
		t.Errorf("second message: %s", b.Body)
	}
	if a.Str("session_id") != first.Str("session_id") {
		t.Errorf("session is %s, was %s", a.Str("session_id"), first.Str("session_id"))
	}
	if n := len(m.Lines("begun")); n != 2 {
		t.Errorf("the tool ran %d times, want 2", n)
	}
	g.Mentions(g.Say("http", "history"), "tools:bash 5", "echo second")
	g.SameAgent("http", pid)
	g.Balanced()
}

const realPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// realImage is a content block.
func realImage() map[string]any {
	return map[string]any{"type": "image", "source": map[string]string{"type": "base64", "media_type": "image/png", "data": realPNG}}
}

func realText(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func TestRealLargeMessageAndImage(t *testing.T) {
	_, g := harness.StartReal(t)
	const prefix = "[channel: http, adapter: http]\n"
	text := "size\n" + strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	g.Say("http", text).Want(t, fmt.Sprintf("%d bytes", len(prefix)+len(text)))
	a := g.Must("POST", "/message", map[string]any{"content": []any{realImage(), realText("image")}}, 200)
	a.Want(t, "1 image(s): image/png")
	g.Balanced()
}

func TestRealWaitingMessagesBecomeOneTurn(t *testing.T) {
	m, g := harness.StartReal(t)
	first := g.Tell("http", "gate door first")
	m.Await(m.Held("door"), "first turn runs")
	second := g.Tell("http", "a text")
	third := g.Tell("http", "", "content", []any{realImage(), realText("image")})
	fourth := g.Tell("http", "last words")
	m.Release("door")
	g.Outcome(first).Want(t, "first")
	last := g.Outcome(fourth)
	last.Want(t, "1 image(s): image/png")
	for _, id := range []string{second, third} {
		if a := g.Outcome(id); !a.Flag("coalesced") || a.Str("into") != fourth || a.Str("text") != "" || a.Flag("is_error") {
			t.Errorf("message before it: %s", a.Body)
		}
	}
	seen := m.Requests()
	if len(seen) != 2 {
		t.Fatalf("%d requests to the API, want 2", len(seen))
	}
	want := []string{"[channel: http, adapter: http]\ngate door first", "[channel: http, adapter: http]\na text", "image", "last words"}
	told := strings.TrimSpace(strings.Join(seen[1].UserTexts, "|")) // the CLI ends the last one with a newline
	if told != strings.Join(want, "|") {
		t.Errorf("claude was told %q, want %q", seen[1].UserTexts, want)
	}
	g.Balanced()
}

func TestRealAPIErrors(t *testing.T) {
	_, g := harness.StartReal(t, "CLAUDE_CODE_MAX_RETRIES=0")
	for _, c := range []struct{ status, code string }{{"401", "not_logged_in"}, {"403", "not_logged_in"}, {"529", "overloaded"}} {
		a := g.Say("http", "error "+c.status)
		g.Failed(a, "failed", c.code)
		g.Mentions(a, "scripted error "+c.status)
	}
	g.Say("http", "echo works").Want(t, "works")
	g.Balanced()
}

func TestRealRetriesShowInTheTrace(t *testing.T) {
	_, g := harness.StartReal(t, "CLAUDE_CODE_MAX_RETRIES=1")
	events := g.Watch("http")
	a := g.Say("http", "error 500 x1")
	a.Want(t, "recovered")
	trace := g.Must("GET", "/messages/"+a.Str("message_id")+"/trace", nil, 200)
	if !strings.Contains(string(trace.Body), `"what":"retry"`) || !strings.Contains(string(trace.Body), "status 500") {
		t.Errorf("trace does not show the retry: %s", trace.Body)
	}
	g.Hear(events, `"code":"retrying"`)
	g.Balanced()
}

func TestRealClaudeThatIsNotLoggedIn(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_PASS_ENV=")
	for range 2 {
		a := g.Say("http", "echo hello")
		g.Failed(a, "failed", "not_logged_in")
		g.Mentions(a, "Not logged in", "/login", "run `claude` once", "`claude setup-token`")
	}
	if n := m.Count(); n != 0 {
		t.Errorf("%d requests to the API without a login", n)
	}
	g.Balanced()
}

func TestRealSlashCommands(t *testing.T) {
	m, g := harness.StartReal(t)
	old := g.Say("http", "echo secret")
	a := g.Say("http", "/context")
	if a.Str("state") != "answered" || !strings.Contains(a.Str("text"), "Context Usage") {
		t.Errorf("/context: %s", a.Body)
	}
	cleared := g.Say("http", "/clear")
	if cleared.Str("state") != "answered" || cleared.Str("session_id") == old.Str("session_id") {
		t.Errorf("/clear: %s", cleared.Body)
	}
	g.End("http")
	g = m.Start()
	next := g.Say("http", "history")
	if strings.Contains(next.Str("text"), "secret") || next.Flag("is_error") || next.Str("session_id") != cleared.Str("session_id") {
		t.Errorf("after /clear: %s", next.Body)
	}
	g.Say("http", "echo newer").Want(t, "newer")
	g.Crash("http")
	g = m.Start()
	last := g.Say("http", "history")
	g.Mentions(last, "echo newer")
	if strings.Contains(last.Str("text"), "secret") || last.Str("session_id") != cleared.Str("session_id") {
		t.Errorf("after the crash: %s", last.Body)
	}
	g.Balanced()
}
