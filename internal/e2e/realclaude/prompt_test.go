package realclaude

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
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

// TestRealAgentKnowsItself has claude use what its system prompt tells it of, in its
// Bash, with a token set that it does not know: it asks how the gateway is, speaks on
// another channel, makes and removes a reminder and restarts the gateway, and its turn
// goes on.
func TestRealAgentKnowsItself(t *testing.T) {
	t.Parallel()
	const token = "a-token-that-claude-does-not-know"
	m, _, _, chat := newRealChat(t, "BARECLAW_HTTP_TOKEN="+token)
	g := m.Start()
	g.HTTP.Transport = withToken{token, g.HTTP.Transport}
	program := harness.Bareclaw(t)
	run := program
	bash := func(command string) harness.Answer {
		t.Helper()
		a := g.Say("http", "tool:bash "+command)
		g.Mentions(a, "final after 1 call(s)")
		return a
	}
	g.Say("http", "echo hello").Want(t, "hello")
	g.Told(m, "`"+run+" restart`")
	g.Told(m, filepath.Join("bareclaw", "notes.md"))

	bash(fmt.Sprintf("%s status --json > %s", run, m.Path("status")))
	if b, err := os.ReadFile(m.Path("status")); err != nil || !strings.Contains(string(b), `"http"`) {
		t.Errorf("bareclaw status says %s (%v)", b, err)
	}
	bash(fmt.Sprintf("%s schedule add http 'echo reminded' --in 1s --json > %s", run, m.Path("job")))
	g.Eventually("the reminder comes", func() bool {
		return strings.Contains(string(g.Must("GET", "/channels/http/messages", nil, 200).Body), `"reminded"`)
	})
	bash(run + " send --push tg-7 'from another channel'")
	harness.Says(chat, "from another channel")
	bash(run + " send tg-7 'without a flag'")
	harness.Says(chat, "without a flag")

	generation, claude := g.Generation(), g.Agent("http")
	bash(run + " restart")
	g.Restarted(generation)
	if now := g.Agent("http"); now != claude {
		t.Errorf("claude was %v before it restarted the gateway and is %v", claude, now)
	}
	g.Balanced()
}

// TestRealPromptOfAResumedSession resumes a session below a gateway that has something
// else to tell.
func TestRealPromptOfAResumedSession(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t)
	g := m.Start()
	first := g.Say("http", "echo one")
	g.Signal(syscall.SIGINT)
	m.Set("XDG_CONFIG_HOME=" + m.Path("elsewhere"))
	g = m.Start()
	if second := g.Say("http", "history"); second.Str("session_id") != first.Str("session_id") || !strings.Contains(second.Str("text"), "echo one") {
		t.Errorf("the conversation does not go on: %s", second.Body)
	}
	g.Told(m, m.Path("elsewhere/bareclaw/notes.md"))
}
