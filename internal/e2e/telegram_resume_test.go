package e2e

import (
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/testkit/botapi"
)

// successions are the ways from one daemon to the next.
var successions = map[string]func(g *gateway) *gateway{
	"crash": func(g *gateway) *gateway {
		g.kill()
		return g.start()
	},
	"stop and start": func(g *gateway) *gateway {
		g.signal(syscall.SIGTERM)
		return g.start()
	},
	"hand-over": func(g *gateway) *gateway {
		generation := g.generation()
		if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			g.t.Fatal(err)
		}
		g.restarted(generation)
		return g
	},
}

// everyShow runs a test for each way from one daemon to the next.
func everyShow(t *testing.T, test func(t *testing.T, succeed func(*gateway) *gateway)) {
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
	everyShow(t, func(t *testing.T, succeed func(*gateway) *gateway) {
		m, api, anna, chat := newChatWith(t, nil)
		g := m.start()
		chat.Send(anna, "toolwait "+m.path("go"))
		status := chat.AwaitMessage("a status", stoppable)
		onRecord(t, api, chat)
		g = succeed(g)
		before, _ := chat.Message(status.ID)
		chat.AwaitMessage("the same status goes on", func(now botapi.Message) bool {
			return now.ID == status.ID && now.Edits > before.Edits && stoppable(now) && strings.HasPrefix(now.Text, "Bash: wait for ")
		})
		api.Await(t, "somebody types", func() bool { return chat.Action(0) == "typing" })
		chat.Tap(anna, status.ID, "⏹ Stop")
		chat.AwaitMessage("that it was stopped", fromBot("⏹ "))
		chat.AwaitMessage("a summary", func(now botapi.Message) bool {
			return now.ID == status.ID && strings.HasPrefix(now.Text, "Stopped after ") && len(now.Buttons) == 0
		})
		m.settled(api, chat)
		if all := chat.FromBot(); len(all) != 2 {
			t.Errorf("the chat has %v", all)
		}
		g.balanced()
	})
}

// TestTelegramStreamGoesOn has the next daemon go on with a text in the same message.
func TestTelegramStreamGoesOn(t *testing.T) {
	everyShow(t, func(t *testing.T, succeed func(*gateway) *gateway) {
		m, api, anna, _ := newChatWith(t, nil)
		group := api.Supergroup(-1001, "Team", anna)
		g := m.start()
		group.Send(anna, "ticks "+m.path("go"))
		first := group.AwaitMessage("the beginning", fromBot("1 2 3 "))
		onRecord(t, api, group)
		g = succeed(g)
		m.touch("go")
		group.AwaitMessage("the answer in its place", func(now botapi.Message) bool {
			return now.ID == first.ID && strings.HasPrefix(now.Text, "ticked ")
		})
		m.settled(api, group)
		if all := written(group); len(all) != 1 {
			t.Errorf("the group has %v", all)
		}
		g.balanced()
	})
}

// TestTelegramAnsweredMeanwhile ends a turn while no daemon runs: all that it said is
// said, once, and nothing of what was shown before is left.
func TestTelegramAnsweredMeanwhile(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"crash": syscall.SIGKILL, "stop": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := newChatWith(t, nil)
			g := m.start()
			chat.Send(anna, "toolwait "+m.path("go"))
			chat.Send(anna, "interim "+m.path("go")+" I look first.")
			status := chat.AwaitMessage("a status", stoppable)
			onRecord(t, api, chat)
			g.signal(sig)
			m.touch("go")
			m.eventually("the turn has ended", func() bool { return m.did("ended", "") })
			g = m.start()
			chat.AwaitText("I look first.")
			chat.AwaitMessage("both answers", func(botapi.Message) bool {
				n := 0
				for _, now := range chat.FromBot() {
					if strings.HasPrefix(now.Text, "final: ") {
						n++
					}
				}
				return n == 2
			})
			m.settled(api, chat)
			api.Await(t, "the status is gone or says how it went", func() bool {
				now, there := chat.Message(status.ID)
				return !there || strings.HasPrefix(now.Text, "Done in ")
			})
			g.balanced()
		})
	}
}

// TestTelegramInterimMeanwhile says a text on the way while no daemon runs.
func TestTelegramInterimMeanwhile(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"crash": syscall.SIGKILL, "stop": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _, anna, chat := newChatWith(t, nil)
			g := m.start()
			chat.Send(anna, "interim "+m.path("go")+" I look first.")
			m.eventually("it runs", func() bool { return m.begun("interim") == 1 })
			g.signal(sig)
			m.eventually("it has said that", func() bool { return m.did("tool", "wait for "+m.path("go")) })
			g = m.start()
			chat.AwaitText("I look first.")
			m.touch("go")
			chat.AwaitText("final: ran: ")
			if got := texts(chat); got[0] != "I look first." || strings.Count(strings.Join(got, "\n"), "I look first.") != 1 {
				t.Errorf("the chat has %q", got)
			}
			g.balanced()
		})
	}
}

// TestTelegramLeftovers takes away what a turn has shown that nobody follows any more:
// Telegram was not there when it ended.
func TestTelegramLeftovers(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChatWith(t, nil)
	g := m.start()
	chat.Send(anna, "toolwait "+m.path("go"))
	status := chat.AwaitMessage("a status", stoppable)
	onRecord(t, api, chat)
	api.DropNetwork()
	m.touch("go")
	m.eventually("it has ended", func() bool { return m.did("ended", "") })
	g.balanced()
	g.kill()
	api.RestoreNetwork()
	m.start()
	chat.AwaitText("final: ran: ")
	api.Await(t, "the status is gone or says how it went", func() bool {
		now, there := chat.Message(status.ID)
		return !there || strings.HasPrefix(now.Text, "Done in ")
	})
}

// TestTelegramStrayStatus kills the daemon when Telegram has taken a status, which it
// does not know: that goes away with a tap on its button.
func TestTelegramStrayStatus(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChatWith(t, nil)
	g := m.start()
	held := api.HoldAnswer("sendMessage", 7)
	chat.Send(anna, "toolwait "+m.path("go"))
	stray := chat.AwaitMessage("a status", stoppable)
	g.kill()
	held.Release()
	m.touch("go")
	m.start()
	chat.AwaitText("final: ran: ")
	chat.Tap(anna, stray.ID, "⏹ Stop")
	chat.AwaitGone(stray.ID)
}
