package telegram

import (
	"strings"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// TestTelegramDraft streams a text in a private chat as a draft, which the answer
// takes the place of.
func TestTelegramDraft(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.send("ticks " + c.Path("go"))
	c.api.Await(t, "a draft that grows", func() bool {
		d, there := c.chat.Draft(0)
		return there && d.CanStop && d.Updates > 1 && strings.HasPrefix(d.Text, "1 2 3 ")
	})
	c.Touch("go")
	c.chat.AwaitText("ticked ")
	if all := harness.Written(c.chat); len(all) != 1 || all[0].Edits != 0 {
		t.Errorf("the chat has %v", all)
	}
}

// drafted waits for a draft with a button that stops it.
func drafted(t *testing.T, api *botapi.Server, chat *botapi.Chat) botapi.Draft {
	t.Helper()
	var d botapi.Draft
	api.Await(t, "a draft", func() (there bool) {
		d, there = chat.Draft(0)
		return there && d.CanStop && d.Text != ""
	})
	return d
}

// TestTelegramDraftStopped stops a turn with Telegram's own button. The conversation
// goes on.
func TestTelegramDraftStopped(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	session := c.Say("tg-7", "session").Str("text")
	c.send("ticks " + c.Path("never"))
	drafted(t, c.api, c.chat)
	late := harness.Lateness()
	c.chat.StopDraft(0)
	c.chat.AwaitMessage("that it was stopped", fromBot("⏹ "))
	newestStoppedWithin(c.Gateway, "tg-7", harness.Promised, late())
	c.ask("session", session)
	c.Balanced()
}

// newestStoppedWithin is StoppedWithin for the newest message of a conversation.
func newestStoppedWithin(g *harness.Gateway, key string, limit, late time.Duration) {
	g.T.Helper()
	ids := g.History(key) // the newest first
	g.StoppedWithin(ids[0], limit, late)
}

// TestTelegramLateStops taps both buttons for a turn that has ended when the gateway
// hears of it: the next turn goes on.
func TestTelegramLateStops(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.send("ticks " + c.Path("first"))
	drafted(t, c.api, c.chat)
	poll := c.api.Hold("getUpdates", 0)
	c.send("toolwait " + c.Path("second"))
	c.api.Await(t, "the next poll is held", poll.Reached)
	c.chat.StopDraft(0)
	c.Touch("first")
	c.chat.AwaitMessage("the first answer", fromBot("ticked "))
	status := c.chat.AwaitMessage("the status of the second", stoppable)
	poll.Release()
	c.api.Await(t, "the stop was received", func() bool { return len(c.api.Pending()) == 0 })
	held := c.api.Hold("getUpdates", 0)
	c.send("echo third")
	c.api.Await(t, "the next poll is held", held.Reached)
	button, _ := status.Button("⏹ Stop")
	c.Touch("second")
	c.chat.AwaitText("final: ran: wait for " + c.Path("second"))
	tap := c.chat.TapStale(c.anna, status.ID, button.Data)
	held.Release()
	c.api.Await(t, "the tap is answered", func() bool {
		a, answered := tap.Answer()
		return answered && a == "This turn has already ended."
	})
	c.chat.AwaitText("third")
}

// TestTelegramStopButton stops a turn with the button of its status.
func TestTelegramStopButton(t *testing.T) {
	t.Parallel()
	m, api, anna, _ := harness.NewChatWith(t, nil)
	group := api.Supergroup(-1001, "Team", anna)
	g := m.Start()
	group.Send(anna, "toolwait "+m.Path("never"))
	m.Eventually("the turn runs", func() bool { return m.Begun("toolwait ") == 1 })
	status := group.AwaitMessage("a status", stoppable)
	late := harness.Lateness()
	tap := group.Tap(anna, status.ID, "⏹ Stop")
	api.Await(t, "the tap is answered", func() bool {
		a, answered := tap.Answer()
		return answered && (a == "Stopped." || a == "Stopping…") // the latter on a busy machine
	})
	group.AwaitMessage("that it was stopped", fromBot("⏹ "))
	newestStoppedWithin(g, "tg--1001", harness.Promised, late())
	group.AwaitMessage("a summary", func(now botapi.Message) bool {
		return now.ID == status.ID && strings.HasPrefix(now.Text, "Stopped after ") && len(now.Buttons) == 0
	})
}

// TestTelegramStreamInGroup streams a text where there are no drafts: into the message
// that becomes the answer.
func TestTelegramStreamInGroup(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"group", "an old server"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := harness.NewChatWith(t, nil)
			if where == "group" {
				chat = api.Supergroup(-1001, "Team", anna)
			} else {
				api.Script("sendMessageDraft", 0, botapi.Refuse(404, "Not Found"))
			}
			m.Start()
			chat.Send(anna, "ticks "+m.Path("go"))
			first := chat.AwaitMessage("the beginning", fromBot("1 2 3 "))
			if group := where == "group"; group != (first.ReplyTo != 0) {
				t.Errorf("it is a reply to %d", first.ReplyTo)
			}
			m.Touch("go")
			chat.AwaitMessage("the answer in its place", func(now botapi.Message) bool {
				return now.ID == first.ID && strings.HasPrefix(now.Text, "ticked ")
			})
			settled(m, api, chat)
			for _, now := range harness.Written(chat) {
				if now.ID != first.ID {
					t.Errorf("there is %v besides", now)
				}
			}
		})
	}
}

// TestTelegramShortAnswerAfterPages streams pages that are not the answer: they are
// said, and so is the answer.
func TestTelegramShortAnswerAfterPages(t *testing.T) {
	t.Parallel()
	for _, group := range []bool{false, true} {
		t.Run(map[bool]string{false: "private", true: "group"}[group], func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := harness.NewChatWith(t, []botapi.Option{botapi.WithoutRates()})
			if group {
				chat = api.Supergroup(-1001, "Team", anna)
			}
			m.Touch("go")
			m.Start()
			pages := strings.TrimSpace(strings.Repeat("All this is said before anything is done. ", 90))
			chat.Send(anna, "interim "+m.Path("go")+" "+pages)
			chat.AwaitText("final: ran: wait for ")
			settled(m, api, chat)
			var said strings.Builder
			for _, now := range chat.FromBot() {
				if strings.HasPrefix(now.Text, "All ") || strings.Contains(now.Text, "is said") {
					said.WriteString(now.Text + " ")
				}
			}
			if strings.TrimSpace(said.String()) != pages {
				t.Errorf("of %d bytes %d were said", len(pages), said.Len())
			}
		})
	}
}

// settled waits until nothing is being sent to the chat any more, and nothing is
// remembered of what is shown.
func settled(m *harness.Machine, api *botapi.Server, chat *botapi.Chat) {
	m.T.Helper()
	m.Eventually("no status is left", func() bool {
		for _, now := range chat.FromBot() {
			if stoppable(now) {
				return false
			}
		}
		return true
	})
	api.Await(m.T, "no call is under way", func() bool {
		for _, c := range api.Calls() {
			if c.Outcome == "" && c.Method != "getUpdates" {
				return false
			}
		}
		return true
	})
}
