package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/testkit/botapi"
)

// awaitTelegram waits until GET /health says that the bot is well, or that its
// problem has the words.
func (g *gateway) awaitTelegram(problem string) {
	g.t.Helper()
	g.eventually("health says of Telegram: "+problem, func() bool {
		h := g.telegramHealth()
		said, _ := h["problem"].(string)
		return h["ready"] == (problem == "") && strings.Contains(said, problem)
	})
}

// TestTelegramTroubleIsTold provokes what may keep a bot from receiving messages.
// HTTP serves all the while, health says what is wrong, the log says it once, and
// when it is over the message that was sent meanwhile is answered.
func TestTelegramTroubleIsTold(t *testing.T) {
	t.Parallel()
	conflicts := func(api *botapi.Server) {
		api.Script("getUpdates", 0, slices.Repeat([]botapi.Step{botapi.Conflict()}, 4)...) // for some seconds
	}
	for name, c := range map[string]struct {
		begin   func(*botapi.Server)
		end     func(*botapi.Server)
		problem string
	}{
		"no network":     {(*botapi.Server).DropNetwork, (*botapi.Server).RestoreNetwork, "cannot be reached"},
		"bad token":      {(*botapi.Server).RevokeToken, (*botapi.Server).RestoreToken, "BotFather"},
		"another poller": {conflicts, func(*botapi.Server) {}, "Another program receives"},
		"left alone":     {func(api *botapi.Server) { api.Script("getUpdates", 0, botapi.TooMany(10)) }, func(*botapi.Server) {}, "left alone for 10s"},
		"a proxy's error": {func(api *botapi.Server) {
			api.Script("getUpdates", 0, slices.Repeat([]botapi.Step{botapi.BadGateway()}, 4)...)
		}, func(*botapi.Server) {}, "502"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := newChat(t)
			c.begin(api)
			g := m.start()
			g.eventually("health says that "+c.problem, func() bool {
				h := g.must("GET", "/health", nil, 200)
				of, _ := h.json["telegram"].(map[string]any)
				said, _ := of["problem"].(string)
				return of["ready"] == false && strings.Contains(said, c.problem) &&
					h.str("status") == "degraded" && strings.Contains(fmt.Sprint(h.json["problems"]), c.problem)
			})
			g.say("http", "echo at work").want(t, "at work")
			chat.Send(anna, "echo meanwhile")
			c.end(api)
			chat.AwaitText("meanwhile")
			g.awaitTelegram("")
			m.eventually("the log says so", func() bool { return strings.Contains(m.log.String(), "nothing is received") })
			if n := strings.Count(m.log.String(), "nothing is received"); n != 1 {
				t.Errorf("the problem was logged %d times", n)
			}
			if n := api.RateViolations(); n > 0 {
				t.Errorf("Telegram asked to be left alone, and was called %d times", n)
			}
		})
	}
}

// TestTelegramWebhookIsTold holds that a webhook is not removed by itself.
func TestTelegramWebhookIsTold(t *testing.T) {
	t.Parallel()
	m, api, _, _ := newChat(t)
	refused := botapi.Refuse(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	api.Script("getUpdates", 0, slices.Repeat([]botapi.Step{refused}, 4)...) // for some seconds
	g := m.start()
	g.awaitTelegram("deleteWebhook")
	g.awaitTelegram("")
	if calls := api.Calls("deleteWebhook"); len(calls) > 0 {
		t.Error("the webhook was removed, which may be another program's")
	}
}

// TestTelegramStrangersAreDropped holds that nobody else is heard or answered, and
// that they are counted.
func TestTelegramStrangersAreDropped(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	g := m.start()
	eve := api.User(66, "Eve", "", "eve")
	group := api.Group(-100, "Team", anna, eve)
	api.Private(eve).Send(eve, "echo for me")
	group.Send(eve, "echo for me too")
	chat.Send(anna, "echo mine")
	chat.AwaitText("mine")
	if n := m.begun("for me"); n != 0 {
		t.Errorf("%d turns were begun for a stranger", n)
	}
	if msgs := append(api.Private(eve).FromBot(), group.FromBot()...); len(msgs) > 0 {
		t.Errorf("a stranger was answered: %v", msgs)
	}
	g.eventually("two updates of strangers are counted", func() bool {
		return g.telegramHealth()["strangers"] == 2.0 && g.metrics()["bareclaw_telegram_strangers_total"] == 2
	})
}

// TestTelegramOnePoller runs two gateways of one user with one bot: one receives,
// the other says which does, and takes over when that one is gone.
func TestTelegramOnePoller(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := newChat(t)
	first := m.start()
	chat.Send(anna, "echo one")
	chat.AwaitText("one")
	other := *m
	other.env = append(append([]string{}, m.env...), "BARECLAW_STATE_DIR="+m.path("state2"), "BARECLAW_RUNTIME_DIR="+m.path("run2"),
		"BARECLAW_CWD="+t.TempDir())
	second := other.start()
	second.awaitTelegram(fmt.Sprintf("(pid %d)", first.cmd.Process.Pid))
	second.say("http", "echo served").want(t, "served")
	chat.Send(anna, "echo two")
	chat.AwaitText("two")
	first.kill()
	chat.Send(anna, "echo three")
	chat.AwaitText("three")
	second.awaitTelegram("")
	second.signal(syscall.SIGINT) // its hosts are in a directory that the machine does not know
}

// TestTelegramHandOver holds that a restart goes on receiving.
func TestTelegramHandOver(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := newChat(t)
	g := m.start()
	for i := range 3 {
		before := time.Now()
		chat.Send(anna, fmt.Sprintf("echo before-%d", i))
		chat.AwaitText(fmt.Sprintf("before-%d", i))
		g.must("POST", "/restart", nil, 200, 202)
		chat.Send(anna, fmt.Sprintf("echo after-%d", i))
		chat.AwaitText(fmt.Sprintf("after-%d", i))
		t.Logf("restart and two messages took %v", time.Since(before))
	}
	g.awaitTelegram("")
	if n := g.balanced(); n != 6 {
		t.Errorf("%d messages were accepted, want 6", n)
	}
	if _, err := os.Stat(m.path("state/media")); err == nil {
		t.Error("a directory for files was made, and there was none")
	}
}
