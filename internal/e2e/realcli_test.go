package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/testkit/roottest"
	"bareclaw/sessionhost/protocol"
)

func TestRealThreeTurnsOnOneWarmProcess(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	first := g.say("http", "echo one")
	first.want(t, "one")
	pid := g.agent("http")
	g.say("http", "echo two").want(t, "two")
	third := g.say("http", "history")
	g.mentions(third, "echo one", "assistant text: one", "echo two", "assistant text: two")
	g.sameAgent("http", pid)
	if n := m.Count(); n != 3 {
		t.Errorf("%d requests to the API, want one a turn", n)
	}
	if third.str("session_id") != first.str("session_id") || first.str("session_id") == "" {
		t.Errorf("third turn in session %s, first in %s", third.str("session_id"), first.str("session_id"))
	}
	if n := g.balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}

func TestRealClaudeIsToldWhoSpeaksAndInheritsNothingItShouldNot(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "CLAUDE_CODE_SIMPLE=1", "CLAUDE_CODE_SESSION_ID=stale", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1",
		"CLAUDECODE=1", "ANTHROPIC_AUTH_TOKEN=secret", "NOTIFY_SOCKET=/nowhere", "TOOLS_NEED=this")
	g := m.start()
	a := g.must("POST", "/message", map[string]any{
		"channel": "tg-7", "text": "tool:bash env > " + m.path("environ"),
		"context": map[string]string{"user": "Ann [x]", "chat": "Tea", "topic": "2"},
	}, 200)
	g.mentions(a, "final after 1 call(s)")
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
	environ := m.lines("environ")
	for _, want := range []string{"TOOLS_NEED=this", "ANTHROPIC_API_KEY=sk-ant-dummy-key", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", client.SocketVariable + "=" + m.path("run/api.sock")} {
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
	g.balanced()
}

func TestRealConversationSurvivesKillOfEverything(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	before := g.say("http", "echo before")
	before.want(t, "before")
	g.crash("http")
	g = m.start()
	after := g.say("http", "history")
	g.mentions(after, "echo before", "assistant text: before")
	if after.str("session_id") != before.str("session_id") || after.json["notices"] != nil {
		t.Errorf("session is %s, was %s: %s", after.str("session_id"), before.str("session_id"), after.body)
	}
	if n := m.asked("echo before"); n != 1 {
		t.Errorf("first message was run %d times", n)
	}
	g.balanced()
}

func TestRealTooManyTurns(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_MAX_TURNS=2")
	g := m.start()
	id := g.tell("http", "tools:bash 5 "+m.waiting("begun", "go", "done"))
	m.eventually("tool runs", func() bool { return len(m.lines("begun")) == 1 })
	pid := g.agent("http")
	second, third := g.tell("http", "echo second"), g.tell("http", "echo third")
	m.touch("go")
	first := g.outcome(id)
	g.failed(first, "failed", "max_turns")
	g.mentions(first, "BARECLAW_MAX_TURNS", "Send another message")
	a := g.outcome(third)
	a.want(t, "second")
	if b := g.outcome(second); !b.flag("coalesced") || b.str("into") != third || b.flag("is_error") {
		t.Errorf("second message: %s", b.body)
	}
	if a.str("session_id") != first.str("session_id") {
		t.Errorf("session is %s, was %s", a.str("session_id"), first.str("session_id"))
	}
	if n := len(m.lines("begun")); n != 2 {
		t.Errorf("the tool ran %d times, want 2", n)
	}
	g.mentions(g.say("http", "history"), "tools:bash 5", "echo second")
	g.sameAgent("http", pid)
	g.balanced()
}

const realPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// realImage is a content block.
func realImage() map[string]any {
	return map[string]any{"type": "image", "source": map[string]string{"type": "base64", "media_type": "image/png", "data": realPNG}}
}

func realText(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func TestRealLargeMessageAndImage(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	const prefix = "[channel: http, adapter: http]\n"
	text := "size\n" + strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	g.say("http", text).want(t, fmt.Sprintf("%d bytes", len(prefix)+len(text)))
	a := g.must("POST", "/message", map[string]any{"content": []any{realImage(), realText("image")}}, 200)
	a.want(t, "1 image(s): image/png")
	g.balanced()
}

func TestRealWaitingMessagesBecomeOneTurn(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	first := g.tell("http", "gate door first")
	m.await(m.Held("door"), "first turn runs")
	second := g.tell("http", "a text")
	third := g.tell("http", "", "content", []any{realImage(), realText("image")})
	fourth := g.tell("http", "last words")
	m.Release("door")
	g.outcome(first).want(t, "first")
	last := g.outcome(fourth)
	last.want(t, "1 image(s): image/png")
	for _, id := range []string{second, third} {
		if a := g.outcome(id); !a.flag("coalesced") || a.str("into") != fourth || a.str("text") != "" || a.flag("is_error") {
			t.Errorf("message before it: %s", a.body)
		}
	}
	seen := m.Requests()
	if len(seen) != 2 {
		t.Fatalf("%d requests to the API, want 2", len(seen))
	}
	want := []string{"[channel: http, adapter: http]\ngate door first", "[channel: http, adapter: http]", "a text", "image", "last words"}
	told := strings.TrimSpace(strings.Join(seen[1].UserTexts, "|")) // the CLI ends the last one with a newline
	if told != strings.Join(want, "|") {
		t.Errorf("claude was told %q, want %q", seen[1].UserTexts, want)
	}
	g.balanced()
}

func TestRealAPIErrors(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "CLAUDE_CODE_MAX_RETRIES=0")
	g := m.start()
	for _, c := range []struct{ status, code string }{{"401", "not_logged_in"}, {"403", "api_error"}, {"529", "overloaded"}} {
		a := g.say("http", "error "+c.status)
		g.failed(a, "failed", c.code)
		g.mentions(a, "scripted error "+c.status)
	}
	g.say("http", "echo works").want(t, "works")
	g.balanced()
}

func TestRealRetriesShowInTheTrace(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "CLAUDE_CODE_MAX_RETRIES=1")
	g := m.start()
	events := g.watch("http")
	a := g.say("http", "error 500 x1")
	a.want(t, "recovered")
	trace := g.must("GET", "/messages/"+a.str("message_id")+"/trace", nil, 200)
	if !strings.Contains(string(trace.body), `"what":"retry"`) || !strings.Contains(string(trace.body), "status 500") {
		t.Errorf("trace does not show the retry: %s", trace.body)
	}
	g.hear(events, `"code":"retrying"`)
	g.balanced()
}

func TestRealClaudeThatIsNotLoggedIn(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_PASS_ENV=")
	g := m.start()
	for range 2 {
		a := g.say("http", "echo hello")
		g.failed(a, "failed", "not_logged_in")
		g.mentions(a, "Not logged in", "/login", "run `claude` once", "`claude setup-token`")
	}
	if n := m.Count(); n != 0 {
		t.Errorf("%d requests to the API without a login", n)
	}
	g.balanced()
}

func TestRealClaudeThatRefusesToStart(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		roottest.Unavailable(t, "claude refuses this mode to root only")
	}
	m := newRealMachine(t, "BARECLAW_PERMISSION_MODE=bypassPermissions")
	g := m.start()
	for range 2 {
		a := g.say("http", "echo hello")
		g.failed(a, "failed", "agent_start")
		g.mentions(a, "cannot be used with root")
	}
	g.balanced()
}

func TestRealSlashCommands(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	old := g.say("http", "echo secret")
	a := g.say("http", "/context")
	if a.str("state") != "answered" || !strings.Contains(a.str("text"), "Context Usage") {
		t.Errorf("/context: %s", a.body)
	}
	cleared := g.say("http", "/clear")
	if cleared.str("state") != "answered" || cleared.str("session_id") == old.str("session_id") {
		t.Errorf("/clear: %s", cleared.body)
	}
	next := g.say("http", "history")
	if strings.Contains(next.str("text"), "secret") || next.str("session_id") != cleared.str("session_id") {
		t.Errorf("after /clear: %s", next.body)
	}
	g.say("http", "echo newer").want(t, "newer")
	g.crash("http")
	g = m.start()
	last := g.say("http", "history")
	g.mentions(last, "echo newer")
	if strings.Contains(last.str("text"), "secret") || last.str("session_id") != cleared.str("session_id") {
		t.Errorf("after the crash: %s", last.body)
	}
	g.balanced()
}
