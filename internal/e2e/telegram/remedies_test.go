package telegram

import (
	"os"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

// TestTelegramRetryAfterLogin runs a message again that met a missing login, by the button below.
func TestTelegramRetryAfterLogin(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	c.send("notloggedin")
	failed := c.asks("Retry", "⚠️ This message was not answered: Claude is not logged in", "When Claude is logged in, send the message again or run bareclaw retry ")
	if n := strings.Count(strings.Join(harness.Texts(c.chat), "\n"), "is not logged in"); n != 1 {
		t.Errorf("said %d times: %q", n, harness.Texts(c.chat))
	}
	c.tap(failed, "Retry", "The message is run again.")
	c.chat.AwaitMessage("the second outcome", func(m botapi.Message) bool {
		_, retry := m.Button("Retry")
		return m.ID > failed.ID && retry
	})
	c.tap(failed, "Retry", "is being run again already")
	c.Balanced()
}

// TestTelegramRefusedConversation begins a new conversation by the button below the second refusal.
// The button does nothing to a later conversation.
func TestTelegramRefusedConversation(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	c.ask("apierror 400", "API Error: 400 scripted error 400")
	c.ask("apierror 400", "This conversation cannot go on: API Error: 400 scripted error 400. /new begins a new one.")
	refused := c.asks("New conversation", "This conversation cannot go on")
	c.tap(refused, "New conversation", "Forgotten.")
	if id := c.Channel(c.key()).Str("session_id"); id != "" {
		t.Errorf("the session is still %s", id)
	}
	c.ask("echo works", "works")
	c.tap(refused, "New conversation", "has ended already")
	c.ask("history", "echo works")
	c.Balanced()
}

// TestTelegramClaudeIsAway holds a message while claude is being updated, and says so.
func TestTelegramClaudeIsAway(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	path := m.Path("bin-claude")
	link := func() { check.OK(t, os.Symlink(harness.FakeClaude(t), path)) }
	link()
	m.Set("BARECLAW_CLAUDE=" + path)
	c := &talk{m.Start(), api, anna, chat}
	c.Usable("other")
	check.OK(t, os.Remove(path))
	c.send("echo first")
	c.says("Claude cannot be started just now, and is probably being updated.")
	c.ask("/status", "waiting. Claude cannot be started just now")
	c.ask("/stop", "Stopped")
	c.send("echo second")
	c.Eventually("it waits", func() bool { return strings.Contains(c.Channel(c.key()).Str("why"), "being updated") })
	link()
	c.says("second")
	c.Balanced()
}
