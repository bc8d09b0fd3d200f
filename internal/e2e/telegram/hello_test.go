package telegram

import (
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestTelegramHello is the way of a message: from a chat to the agent and back.
func TestTelegramHello(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := harness.NewChat(t)
	g := m.Start()
	chat.Send(anna, "echo hello")
	chat.AwaitText("hello")
	chat.Send(anna, "prompt")
	chat.AwaitText("[channel: tg-" + fmt.Sprint(chat.ID()) + ", adapter: telegram, user: Anna Arden]")
	if n := g.Balanced(); n != 2 {
		t.Errorf("%d messages were accepted, want 2", n)
	}
	if !strings.Contains(fmt.Sprint(m.Glob("home/.local/state/bareclaw/telegram-*.lock")), "telegram-") {
		t.Log(m.Glob("home/.local/state/*/*"))
	}
}
