package crash

import (
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// TestTelegramCrashAtEveryStep kills the daemon at every step of a message's way from
// Telegram to the agent and back. Each message is read in one turn, and answered; at
// most the one answer that was on its way is there twice.
func TestTelegramCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	for _, calls := range harness.Steps {
		t.Run(calls, func(t *testing.T) {
			t.Parallel()
			m, _, anna, chat := harness.NewChat(t)
			g := m.Start()
			everyStep(t, func(n int) (killed bool) {
				text := fmt.Sprintf("crash-%d-of-%s", n, calls)
				tr := m.Trace(g.Worker(), fmt.Sprintf("%s:signal=SIGKILL:when=%d", calls, n))
				chat.Send(anna, "echo "+text)
				answeredOrGone(g, chat, text)
				tr.Detach()
				if killed = g.Ended(); killed {
					g = m.Start()
				}
				answeredOnce(g, chat, text)
				return killed
			})
			g.Balanced()
			g.EndsAll()
		})
	}
}

// answeredOrGone waits until a message is answered and nothing is left to be
// delivered, or the daemon is gone.
func answeredOrGone(g *harness.Gateway, chat *botapi.Chat, text string) {
	g.T.Helper()
	g.Eventually("answer, or end, for "+text, func() bool {
		return harness.CountText(chat, text) > 0 || harness.Closed(g.Done)
	})
	g.Eventually("delivery, or end", func() bool {
		a, err := g.Do("GET", "/health", nil)
		h, _ := a.JSON["telegram"].(map[string]any)
		return err != nil || h["pending"] == 0.0
	})
}

// answeredOnce fails unless a text is read in one turn and answered, at most twice.
func answeredOnce(g *harness.Gateway, chat *botapi.Chat, text string) {
	g.T.Helper()
	chat.AwaitText(text)
	g.Delivered()
	if n := begunExactly(g.Machine, "echo "+text); n != 1 {
		g.T.Errorf("%s was read in %d turns", text, n)
	}
	if n := harness.CountText(chat, text); n > 2 {
		g.T.Errorf("%s was answered %d times", text, n)
	}
}

// TestTelegramFullDisk: the gateway acknowledges no message to Telegram that it cannot record,
// tells the sender so, once, and answers the message later.
func TestTelegramFullDisk(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	group := api.Supergroup(-1001, "Team", anna)
	m.SmallDisk("state", "2m")
	g := m.Start()
	chat.Send(anna, "echo before")
	chat.AwaitText("before")
	g.Delivered()
	free := m.Fill("state")
	g.Refusals("http", 507, "storage_full")
	sent := chat.Send(anna, "echo on the full disk")
	g.AwaitTelegram("cannot be recorded")
	if left := api.Pending(); len(left) != 1 || left[0] != sent.UpdateID {
		t.Errorf("not acknowledged are %v, want %d", left, sent.UpdateID)
	}
	group.Send(anna, "echo in the group")
	chat.AwaitText("is not lost")
	group.AwaitText("is not lost")
	chat.Send(anna, "echo and more")
	g.AwaitTelegram("cannot be recorded")
	free()
	chat.AwaitText("on the full disk")
	chat.AwaitText("and more")
	group.AwaitText("in the group")
	g.AwaitTelegram("")
	g.Delivered()
	if n := begunExactly(g.Machine, "echo on the full disk"); n != 1 {
		t.Errorf("it was read in %d turns", n)
	}
	for _, c := range []*botapi.Chat{chat, group} {
		told := 0
		for _, m := range c.FromBot() {
			if strings.Contains(m.Text, "is not lost") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("that it waits was told %d times", told)
		}
	}
}
