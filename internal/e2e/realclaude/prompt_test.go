package realclaude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// TestRealAgentKnowsItself has claude run the commands of its system prompt in Bash, on a
// gateway with a token that claude does not know: claude asks for the status, sets a
// reminder, speaks on another channel and restarts the gateway, and its turn goes on.
func TestRealAgentKnowsItself(t *testing.T) {
	t.Parallel()
	api := botapi.New(t, botapi.WithoutRates())
	anna := api.User(7, "Anna", "Arden", "anna")
	chat := api.Private(anna)
	m := harness.NewRealMachine(t, append(harness.BotSettings(api, anna), "BARECLAW_HTTP_TOKEN="+harness.Token)...)
	g := m.Start()
	g.Gateway = g.Bearer()
	run := harness.Bareclaw(t)
	bash := func(command string) harness.Answer {
		t.Helper()
		a := g.Say("http", "tool:bash "+command)
		g.Mentions(a, "final after 1 call(s)")
		return a
	}
	g.Say("http", "echo hello").Want(t, "hello")
	told(m, "restart_self restarts the gateway", filepath.Join("bareclaw", "notes.md"))

	bash(fmt.Sprintf("%s status --json > %s", run, m.Path("status")))
	if b, err := os.ReadFile(m.Path("status")); err != nil || !strings.Contains(string(b), `"http"`) {
		t.Errorf("bareclaw status says %s (%v)", b, err)
	}
	bash(fmt.Sprintf("%s schedule add http 'echo reminded' --in 1s --json > %s", run, m.Path("job")))
	g.Eventually("the reminder comes", func() bool {
		return strings.Contains(string(g.Must("GET", "/channels/http/messages", nil, 200).Body), `"reminded"`)
	})
	bash(run + " send --push tg-7 'from another channel'")
	chat.AwaitText("from another channel")
	bash(run + " send tg-7 'without a flag'")
	chat.AwaitText("without a flag")

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
	m, g := harness.StartReal(t)
	first := g.Say("http", "echo one")
	g.Signal(syscall.SIGINT)
	m.Set("XDG_CONFIG_HOME=" + m.Path("elsewhere"))
	g = m.Start()
	if second := g.Say("http", "history"); second.Str("session_id") != first.Str("session_id") || !strings.Contains(second.Str("text"), "echo one") {
		t.Errorf("the conversation does not go on: %s", second.Body)
	}
	told(m, m.Path("elsewhere/bareclaw/notes.md"))
}

// told fails unless the last request to the API carried the system prompt of a gateway.
func told(m *harness.RealMachine, parts ...string) {
	m.T.Helper()
	if got := m.Last().System; !harness.ContainsAll(got, parts) {
		m.T.Errorf("the system prompt does not hold %q:\n%s", parts, got)
	}
}
