package realclaude

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// refuse has the API answer every request with an error.
func refuse(m *harness.RealMachine, status int, kind, message string) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
	})
	m.Before.Store(&h)
}

// TestRealConversationThatIsRefused: the API refuses each message of a conversation, and then
// /compact. The second time it is said how to begin a new conversation.
func TestRealConversationThatIsRefused(t *testing.T) {
	m, g := harness.StartReal(t, "CLAUDE_CODE_MAX_RETRIES=0")
	for i, c := range []struct {
		status              int
		kind, message, code string
		first               string // in the first outcome
	}{
		{400, "invalid_request_error", "messages.1.content.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.", "api_error", "thinking"},
		{400, "invalid_request_error", "The request body is not valid JSON: no low surrogate in string: line 1 column 91773 (char 9177%d)", "api_error", "surrogate"},
		{400, "invalid_request_error", "tools.1%d.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", "api_error", "oneOf"},
		{400, "invalid_request_error", "messages: text content blocks must be non-empty (%d)", "api_error", "non-empty"},
		{400, "invalid_request_error", "prompt is too long: 21045%d tokens > 200000 maximum", "prompt_too_long", "`/compact` shortens this conversation, `bareclaw channels reset"},
		{413, "request_too_large", "Request exceeds the maximum size (%d)", "api_error", "too large"},
	} {
		channel := fmt.Sprint("refused-", i)
		m.Before.Store(nil)
		g.Say(channel, "echo works").Want(t, "works")
		for n, text := range []string{"one", "two", "three"} {
			refuse(m, c.status, c.kind, fmt.Sprintf(c.message, n))
			a := g.Say(channel, text)
			code, words := "conversation_refused", []string{"This conversation cannot go on", "`bareclaw channels reset " + channel + "` begins a new one"}
			if n == 0 {
				code, words = c.code, []string{c.first}
			}
			g.Failed(a, "failed", code)
			g.Mentions(a, words...)
		}
		refuse(m, c.status, c.kind, fmt.Sprintf(c.message, 9))
		compacted := g.Say(channel, "/compact")
		if compacted.Str("state") != "failed" || compacted.Str("code") == "" {
			t.Errorf("%s: /compact: %s", c.message, compacted.Body)
		}
		t.Logf("%s: %s", c.message, compacted.Str("error"))
		g.End(channel) // the refusals are on record
		g = m.Start()
		refuse(m, c.status, c.kind, fmt.Sprintf(c.message, 5))
		g.Failed(g.Say(channel, "four"), "failed", "conversation_refused")
		m.Before.Store(nil)
		g.Must("DELETE", "/channels/"+channel, nil, 200)
		g.Say(channel, "echo again").Want(t, "again")
	}
	g.Balanced()
}

// TestRealLoginThatIsForbidden: a 403 with claude's words about a login holds what waits, as a
// 401 does, and the message that met it says how to run it again.
func TestRealLoginThatIsForbidden(t *testing.T) {
	m, g := harness.StartReal(t, "CLAUDE_CODE_MAX_RETRIES=0")
	refuse(m, 403, "permission_error", "Your organization has been disabled.")
	a := g.Say("c", "echo one")
	g.Failed(a, "failed", "not_logged_in")
	id := a.Str("message_id")
	g.Mentions(a, "This message was not answered", "organization has been disabled", "`claude setup-token`", "CLAUDE_CODE_OAUTH_TOKEN=…", ".env`",
		"`bareclaw restart`", "`bareclaw retry "+id[len(id)-8:]+"`")
	if strings.Count(string(a.Body), "setup-token") > 2 { // in text and error
		t.Errorf("said more than once: %s", a.Body)
	}
	if state := g.Channel("c").Str("state"); state != "parked" {
		t.Errorf("the channel is %s", state)
	}
	m.Before.Store(nil)
	g.Must("POST", "/messages/"+id+"/retry", nil, 200).Want(t, "one")
	g.Balanced()
}

// TestRealVersionIsNamed: the version of a session's claude is known before its first turn is
// over, and after a restart of the gateway.
func TestRealVersionIsNamed(t *testing.T) {
	m, g := harness.StartReal(t)
	g.Say("c", "echo one").Want(t, "one")
	version := g.Channel("c").Str("agent_version")
	if strings.Count(version, ".") != 2 {
		t.Errorf("the version is %q: %s", version, g.Channel("c").Body)
	}
	g.Kill()
	g = m.Start()
	m.Eventually("the version is known after a restart", func() bool { return g.Channel("c").Str("agent_version") == version })
	if !strings.Contains(string(g.Must("GET", "/health", nil, 200).Body), `"agent_version":"`+version) {
		t.Error("the health does not name it")
	}
}
