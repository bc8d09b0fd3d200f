package telegram

import (
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// successions are the ways from one daemon to the next.
var successions = map[string]func(g *harness.Gateway) *harness.Gateway{
	"crash": func(g *harness.Gateway) *harness.Gateway {
		g.Kill()
		return g.Start()
	},
	"stop and start": func(g *harness.Gateway) *harness.Gateway {
		g.Signal(syscall.SIGTERM)
		return g.Start()
	},
	"hand-over": func(g *harness.Gateway) *harness.Gateway {
		generation := g.Generation()
		if err := g.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
			g.T.Fatal(err)
		}
		g.Restarted(generation)
		return g
	},
}

// everyShow runs a test for each way from one daemon to the next.
func everyShow(t *testing.T, test func(t *testing.T, succeed func(*harness.Gateway) *harness.Gateway)) {
	t.Parallel()
	for name, succeed := range successions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, succeed)
		})
	}
}

// onRecord waits until the id of the newest message is on record, which shows in that
// somebody types again.
func onRecord(t *testing.T, api *botapi.Server, chat *botapi.Chat) {
	t.Helper()
	api.Await(t, "somebody types again", func() bool { return chat.Action(0) == "typing" })
}

// TestTelegramStatusGoesOn has the next daemon go on with the same status, whose
// button works; with the next turn there is another one.
func TestTelegramStatusGoesOn(t *testing.T) {
	everyShow(t, func(t *testing.T, succeed func(*harness.Gateway) *harness.Gateway) {
		c := newTalk(t)
		c.works("toolwait " + c.Path("go"))
		status := c.chat.AwaitMessage("a status", stoppable)
		onRecord(t, c.api, c.chat)
		c.Gateway = succeed(c.Gateway)
		before, _ := c.chat.Message(status.ID)
		c.chat.AwaitMessage("the same status goes on", func(now botapi.Message) bool {
			return now.ID == status.ID && now.Edits > before.Edits && stoppable(now) && strings.HasPrefix(now.Text, "Bash: wait for ")
		})
		c.api.Await(t, "somebody types", func() bool { return c.chat.Action(0) == "typing" })
		c.chat.Tap(c.anna, status.ID, "⏹ Stop")
		c.chat.AwaitMessage("that it was stopped", fromBot("⏹ "))
		c.chat.AwaitMessage("a summary", func(now botapi.Message) bool {
			return now.ID == status.ID && strings.HasPrefix(now.Text, "Stopped after ") && len(now.Buttons) == 0
		})
		settled(c.Machine, c.api, c.chat)
		if all := c.chat.FromBot(); len(all) != 2 {
			t.Errorf("the chat has %v", all)
		}
		c.Balanced()
	})
}

// TestTelegramStreamGoesOn has the next daemon go on with a text in the same message.
func TestTelegramStreamGoesOn(t *testing.T) {
	everyShow(t, func(t *testing.T, succeed func(*harness.Gateway) *harness.Gateway) {
		m, api, anna, _ := harness.NewChatWith(t, nil)
		group := api.Supergroup(-1001, "Team", anna)
		g := m.Start()
		group.Send(anna, "ticks "+m.Path("go"))
		first := group.AwaitMessage("the beginning", fromBot("1 2 3 "))
		onRecord(t, api, group)
		g = succeed(g)
		m.Touch("go")
		group.AwaitMessage("the answer in its place", func(now botapi.Message) bool {
			return now.ID == first.ID && strings.HasPrefix(now.Text, "ticked ")
		})
		settled(m, api, group)
		if all := harness.Written(group); len(all) != 1 {
			t.Errorf("the group has %v", all)
		}
		g.Balanced()
	})
}

// TestTelegramAnsweredMeanwhile ends a turn while no daemon runs: all that it said is
// said, once, and nothing of what was shown before is left.
func TestTelegramAnsweredMeanwhile(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"crash": syscall.SIGKILL, "stop": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTalk(t)
			c.works("toolwait " + c.Path("go"))
			c.send("interim " + c.Path("go") + " I look first.")
			status := c.chat.AwaitMessage("a status", stoppable)
			onRecord(t, c.api, c.chat)
			c.Signal(sig)
			c.Touch("go")
			c.Eventually("the turn has ended", func() bool { return c.Did("ended", "") })
			c.Gateway = c.Machine.Start()
			c.chat.AwaitText("I look first.")
			c.chat.AwaitMessage("both answers", func(botapi.Message) bool {
				n := 0
				for _, now := range c.chat.FromBot() {
					if strings.HasPrefix(now.Text, "final: ") {
						n++
					}
				}
				return n == 2
			})
			settled(c.Machine, c.api, c.chat)
			c.api.Await(t, "the status is gone or says how it went", func() bool {
				now, there := c.chat.Message(status.ID)
				return !there || strings.HasPrefix(now.Text, "Done in ")
			})
			c.Balanced()
		})
	}
}

// TestTelegramInterimMeanwhile says a text on the way while no daemon runs.
func TestTelegramInterimMeanwhile(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"crash": syscall.SIGKILL, "stop": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTalk(t)
			c.send("interim " + c.Path("go") + " I look first.")
			c.Eventually("it runs", func() bool { return c.Begun("interim") == 1 })
			c.Signal(sig)
			c.Eventually("it has said that", func() bool { return c.Did("tool", "wait for "+c.Path("go")) })
			c.Gateway = c.Machine.Start()
			c.chat.AwaitText("I look first.")
			c.Touch("go")
			c.chat.AwaitText("final: ran: ")
			if got := harness.Texts(c.chat); got[0] != "I look first." || strings.Count(strings.Join(got, "\n"), "I look first.") != 1 {
				t.Errorf("the chat has %q", got)
			}
			c.Balanced()
		})
	}
}

// TestTelegramLeftovers takes away what a turn has shown that nobody follows any more:
// Telegram was not there when it ended.
func TestTelegramLeftovers(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.works("toolwait " + c.Path("go"))
	status := c.chat.AwaitMessage("a status", stoppable)
	onRecord(t, c.api, c.chat)
	c.api.DropNetwork()
	c.Touch("go")
	c.Eventually("it has ended", func() bool { return c.Did("ended", "") })
	c.Balanced()
	c.Kill()
	c.api.RestoreNetwork()
	c.Gateway = c.Machine.Start()
	c.chat.AwaitText("final: ran: ")
	c.api.Await(t, "the status is gone or says how it went", func() bool {
		now, there := c.chat.Message(status.ID)
		return !there || strings.HasPrefix(now.Text, "Done in ")
	})
}

// TestTelegramStrayStatus kills the daemon when Telegram has taken a status, which it
// does not know: that goes away with a tap on its button.
func TestTelegramStrayStatus(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	held := c.api.HoldAnswer("sendMessage", 7)
	c.send("toolwait " + c.Path("go"))
	stray := c.chat.AwaitMessage("a status", stoppable)
	c.Kill()
	held.Release()
	c.Touch("go")
	c.Gateway = c.Machine.Start()
	c.chat.AwaitText("final: ran: ")
	c.chat.Tap(c.anna, stray.ID, "⏹ Stop")
	c.chat.AwaitGone(stray.ID)
}
