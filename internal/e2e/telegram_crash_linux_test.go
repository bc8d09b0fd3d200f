package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/botapi"
)

// TestTelegramCrashAtEveryStep kills the daemon at every step of a message's way from
// Telegram to the agent and back. Each message is read in one turn, and answered; at
// most the one answer that was on its way is there twice.
func TestTelegramCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, calls := range steps {
		t.Run(calls, func(t *testing.T) {
			t.Parallel()
			m, _, anna, chat := newChat(t)
			g := m.start()
			everyStep(t, func(n int) (killed bool) {
				text := fmt.Sprintf("crash-%d-of-%s", n, calls)
				tr := m.trace(g.cmd.Process.Pid, fmt.Sprintf("%s:signal=SIGKILL:when=%d", calls, n))
				chat.Send(anna, "echo "+text)
				g.answeredOrGone(chat, text)
				tr.detach()
				if killed = g.ended(); killed {
					g = m.start()
				}
				g.answeredOnce(chat, text)
				return killed
			})
			g.balanced()
			g.endsAll()
		})
	}
}

// answeredOrGone waits until a message is answered and nothing is left to be
// delivered, or the daemon is gone.
func (g *gateway) answeredOrGone(chat *botapi.Chat, text string) {
	g.t.Helper()
	g.eventually("answer, or end, for "+text, func() bool {
		if countText(chat, text) > 0 {
			return true
		}
		_, err := g.do("GET", "/health", nil)
		return err != nil
	})
	g.eventually("delivery, or end", func() bool {
		a, err := g.do("GET", "/health", nil)
		h, _ := a.json["telegram"].(map[string]any)
		return err != nil || h["pending"] == 0.0
	})
}

// answeredOnce fails unless a text is read in one turn and answered, at most twice.
func (g *gateway) answeredOnce(chat *botapi.Chat, text string) {
	g.t.Helper()
	chat.AwaitText(text)
	g.delivered()
	if n := g.begunExactly("echo " + text); n != 1 {
		g.t.Errorf("%s was read in %d turns", text, n)
	}
	if n := countText(chat, text); n > 2 {
		g.t.Errorf("%s was answered %d times", text, n)
	}
}

// TestTelegramRandomCrashes kills the daemon at random moments while people of
// several chats write. Nothing is lost and nothing is read twice.
func TestTelegramRandomCrashes(t *testing.T) {
	t.Parallel()
	m, api, anna, private := newChat(t)
	chats := []*botapi.Chat{private, api.Group(-200, "Team", anna), api.Forum(-1000300, "Club", anna)}
	rounds := 8
	if soak() {
		rounds = 200
	}
	g := m.start()
	texts := make([][]string, len(chats))
	for round := range rounds {
		for i, c := range chats {
			text := fmt.Sprintf("random-%d-%d.", round, i)
			c.Send(anna, "echo "+text)
			texts[i] = append(texts[i], text)
		}
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond) // the moment is the point
		g.kill()
		for i, c := range chats { // while it is down
			text := fmt.Sprintf("down-%d-%d.", round, i)
			c.Send(anna, "echo "+text)
			texts[i] = append(texts[i], text)
		}
		g = m.start()
	}
	g.eventually("everything is read", func() bool {
		return len(api.Pending()) == 0 && g.metrics()["bareclaw_messages_waiting"] == 0 && g.metrics()["bareclaw_messages_accepted_total"] == float64(2*rounds*len(chats))
	})
	for i := range chats {
		for _, text := range texts[i] {
			if n := g.begunExactly("echo " + text); n != 1 {
				t.Errorf("%s was read in %d turns", text, n)
			}
		}
	}
	g.delivered()
	for i, c := range chats {
		if n := len(c.FromBot()); n == 0 {
			t.Errorf("chat %d was not answered", i)
		}
	}
	g.balanced()
}

// TestTelegramFullDisk holds that nothing is acknowledged to Telegram while it cannot
// be recorded, that who has written it is told so, once, and that it is answered later.
func TestTelegramFullDisk(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	group := api.Supergroup(-1001, "Team", anna)
	m.smallDisk()
	g := m.start()
	chat.Send(anna, "echo before")
	chat.AwaitText("before")
	g.delivered()
	free := m.fill()
	g.refusals("http", 507, "storage_full")
	sent := chat.Send(anna, "echo on the full disk")
	g.awaitTelegram("cannot be recorded")
	if left := api.Pending(); len(left) != 1 || left[0] != sent.UpdateID {
		t.Errorf("not acknowledged are %v, want %d", left, sent.UpdateID)
	}
	group.Send(anna, "echo in the group")
	chat.AwaitText("is not lost")
	group.AwaitText("is not lost")
	chat.Send(anna, "echo and more")
	g.awaitTelegram("cannot be recorded")
	free()
	chat.AwaitText("on the full disk")
	chat.AwaitText("and more")
	group.AwaitText("in the group")
	g.awaitTelegram("")
	g.delivered()
	if n := g.begunExactly("echo on the full disk"); n != 1 {
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
