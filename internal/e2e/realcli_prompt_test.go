package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A withToken sends every request with a token.
type withToken struct {
	token string
	http.RoundTripper
}

// RoundTrip sends one.
func (b withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// told fails unless the last request to the API carried the system prompt of this
// gateway.
func (g *realGateway) told(m *realMachine, want string) {
	g.t.Helper()
	all := m.Requests()
	if got := all[len(all)-1].System; !strings.Contains(got, want) {
		g.t.Errorf("the system prompt does not hold %q:\n%s", want, got)
	}
}

// TestRealAgentKnowsItself has claude use what its system prompt tells it of, in its
// Bash, with a token set that it does not know: it asks how the gateway is, speaks on
// another channel, makes and removes a reminder and restarts the gateway, and its turn
// goes on.
func TestRealAgentKnowsItself(t *testing.T) {
	t.Parallel()
	const token = "a-token-that-claude-does-not-know"
	m, _, _, chat := newRealChat(t, "BARECLAW_HTTP_TOKEN="+token)
	g := m.start()
	g.http.Transport = withToken{token, g.http.Transport}
	program := bareclaw(t)
	run := program
	bash := func(command string) answer {
		t.Helper()
		a := g.say("http", "tool:bash "+command)
		g.mentions(a, "final after 1 call(s)")
		return a
	}
	g.say("http", "echo hello").want(t, "hello")
	g.told(m, "`"+run+" restart`")
	g.told(m, filepath.Join("bareclaw", "notes.md"))

	bash(fmt.Sprintf("%s status --json > %s", run, m.path("status")))
	if b, err := os.ReadFile(m.path("status")); err != nil || !strings.Contains(string(b), `"http"`) {
		t.Errorf("bareclaw status says %s (%v)", b, err)
	}
	bash(fmt.Sprintf("%s schedule add http 'echo reminded' --in 1s --json > %s", run, m.path("job")))
	g.eventually("the reminder comes", func() bool {
		return strings.Contains(string(g.must("GET", "/channels/http/messages", nil, 200).body), `"reminded"`)
	})
	bash(run + " send --push tg-7 'from another channel'")
	says(chat, "from another channel")
	bash(run + " send tg-7 'without a flag'")
	says(chat, "without a flag")

	generation, claude := g.generation(), g.agent("http")
	bash(run + " restart")
	g.restarted(generation)
	if now := g.agent("http"); now != claude {
		t.Errorf("claude was %v before it restarted the gateway and is %v", claude, now)
	}
	g.balanced()
}

// TestRealPromptOfAResumedSession resumes a session below a gateway that has something
// else to tell.
func TestRealPromptOfAResumedSession(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	first := g.say("http", "echo one")
	g.signal(syscall.SIGINT)
	m.set("XDG_CONFIG_HOME=" + m.path("elsewhere"))
	g = m.start()
	if second := g.say("http", "history"); second.str("session_id") != first.str("session_id") || !strings.Contains(second.str("text"), "echo one") {
		t.Errorf("the conversation does not go on: %s", second.body)
	}
	g.told(m, m.path("elsewhere/bareclaw/notes.md"))
}
