package telegram

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

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
		"a webhook": {func(api *botapi.Server) {
			api.Script("getUpdates", 0, slices.Repeat([]botapi.Step{botapi.Refuse(409, "Conflict: can't use getUpdates method while webhook is active")}, 4)...)
		}, func(*botapi.Server) {}, "deleteWebhook"},
		"left alone": {func(api *botapi.Server) { api.Script("getUpdates", 0, botapi.TooMany(10)) }, func(*botapi.Server) {}, "a pause of 10s"},
		"a proxy's error": {func(api *botapi.Server) {
			api.Script("getUpdates", 0, slices.Repeat([]botapi.Step{botapi.BadGateway()}, 4)...)
		}, func(*botapi.Server) {}, "502"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := harness.NewChat(t)
			c.begin(api)
			g := m.Start()
			g.Eventually("health says that "+c.problem, func() bool {
				h := g.Must("GET", "/health", nil, 200)
				of, _ := h.JSON["telegram"].(map[string]any)
				said, _ := of["problem"].(string)
				return of["ready"] == false && strings.Contains(said, c.problem) &&
					h.Str("status") == "degraded" && strings.Contains(fmt.Sprint(h.JSON["problems"]), c.problem)
			})
			g.Say("http", "echo at work").Want(t, "at work")
			chat.Send(anna, "echo meanwhile")
			c.end(api)
			chat.AwaitText("meanwhile")
			g.AwaitTelegram("")
			m.Eventually("the log says so", func() bool { return strings.Contains(m.Log.String(), "no messages are received") })
			if n := strings.Count(m.Log.String(), "no messages are received"); n != 1 {
				t.Errorf("the problem was logged %d times", n)
			}
			if calls := api.Calls("deleteWebhook"); len(calls) > 0 {
				t.Error("the webhook was removed, which may be another program's")
			}
			if n := api.RateViolations(); n > 0 {
				t.Errorf("Telegram asked to be left alone, and was called %d times", n)
			}
		})
	}
}

// TestTelegramStrangersAreDropped holds that nobody else is heard or answered, and
// that they are counted.
func TestTelegramStrangersAreDropped(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	eve := c.api.User(66, "Eve", "", "eve")
	group := c.api.Group(-100, "Team", c.anna, eve)
	c.api.Private(eve).Send(eve, "echo for me")
	group.Send(eve, "echo for me too")
	c.ask("echo mine", "mine")
	if n := c.Begun("for me"); n != 0 {
		t.Errorf("%d turns were begun for a stranger", n)
	}
	if msgs := append(c.api.Private(eve).FromBot(), group.FromBot()...); len(msgs) > 0 {
		t.Errorf("a stranger was answered: %v", msgs)
	}
	c.Eventually("two updates of strangers are counted", func() bool {
		return c.TelegramHealth()["strangers"] == 2.0 && c.Metrics()["bareclaw_telegram_strangers_total"] == 2
	})
}

// TestTelegramOnePoller runs two gateways of one user with one bot: one receives,
// the other says which does, and takes over when that one is gone.
func TestTelegramOnePoller(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := harness.NewChat(t)
	first := m.Start()
	chat.Send(anna, "echo one")
	chat.AwaitText("one")
	other := *m
	other.Env = append(append([]string{}, m.Env...), "BARECLAW_STATE_DIR="+m.Path("state2"), "BARECLAW_RUNTIME_DIR="+m.Path("run2"),
		"BARECLAW_CWD="+t.TempDir())
	second := other.Start()
	second.AwaitTelegram(fmt.Sprintf("(pid %d)", first.Cmd.Process.Pid))
	second.Say("http", "echo served").Want(t, "served")
	chat.Send(anna, "echo two")
	chat.AwaitText("two")
	first.Kill()
	chat.Send(anna, "echo three")
	chat.AwaitText("three")
	second.AwaitTelegram("")
	second.Signal(syscall.SIGINT) // its hosts are in a directory that the machine does not know
}

// TestTelegramHandOver holds that a restart goes on receiving.
func TestTelegramHandOver(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	for i := range 3 {
		before := time.Now()
		c.ask(fmt.Sprintf("echo before-%d", i), fmt.Sprintf("before-%d", i))
		c.Must("POST", "/restart", nil, 200, 202)
		c.ask(fmt.Sprintf("echo after-%d", i), fmt.Sprintf("after-%d", i))
		t.Logf("restart and two messages took %v", time.Since(before))
	}
	c.AwaitTelegram("")
	if n := c.Balanced(); n != 6 {
		t.Errorf("%d messages were accepted, want 6", n)
	}
	if _, err := os.Stat(c.Path("state/media")); err == nil {
		t.Error("a directory for files was made, and there was none")
	}
}
