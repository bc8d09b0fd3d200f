package e2e

import (
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/botapi"
)

// TestTelegramDraft streams a text in a private chat as a draft, which the answer
// takes the place of.
func TestTelegramDraft(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChatWith(t, nil)
	m.start()
	chat.Send(anna, "ticks "+m.path("go"))
	api.Await(t, "a draft that grows", func() bool {
		d, there := chat.Draft(0)
		return there && d.CanStop && d.Updates > 1 && strings.HasPrefix(d.Text, "1 2 3 ")
	})
	m.touch("go")
	chat.AwaitText("ticked ")
	if all := written(chat); len(all) != 1 || all[0].Edits != 0 {
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
	m, api, anna, chat := newChatWith(t, nil)
	g := m.start()
	session := g.say("tg-7", "session").str("text")
	chat.Send(anna, "ticks "+m.path("never"))
	drafted(t, api, chat)
	late := lateness(t)
	chat.StopDraft(0)
	chat.AwaitMessage("that it was stopped", fromBot("⏹ "))
	g.newestStoppedWithin("tg-7", promised, late())
	chat.Send(anna, "session")
	chat.AwaitText(session)
	g.balanced()
}

// newestStoppedWithin fails unless the turn of a conversation's newest message ended in time;
// see stoppedWithin.
func (g *gateway) newestStoppedWithin(key string, limit, late time.Duration) {
	g.t.Helper()
	ids := g.history(key) // the newest first
	g.stoppedWithin(ids[0], limit, late)
}

// TestTelegramLateStops taps both buttons for a turn that has ended when the gateway
// hears of it: the next turn goes on.
func TestTelegramLateStops(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChatWith(t, nil)
	m.start()
	chat.Send(anna, "ticks "+m.path("first"))
	drafted(t, api, chat)
	poll := api.Hold("getUpdates", 0)
	chat.Send(anna, "toolwait "+m.path("second"))
	api.Await(t, "the next poll is held", poll.Reached)
	chat.StopDraft(0)
	m.touch("first")
	chat.AwaitMessage("the first answer", fromBot("ticked "))
	status := chat.AwaitMessage("the status of the second", stoppable)
	poll.Release()
	api.Await(t, "the stop was received", func() bool { return len(api.Pending()) == 0 })
	held := api.Hold("getUpdates", 0)
	chat.Send(anna, "echo third")
	api.Await(t, "the next poll is held", held.Reached)
	button, _ := status.Button("⏹ Stop")
	m.touch("second")
	chat.AwaitText("final: ran: wait for " + m.path("second"))
	tap := chat.TapStale(anna, status.ID, button.Data)
	held.Release()
	api.Await(t, "the tap is answered", func() bool {
		a, answered := tap.Answer()
		return answered && a.Text == "It has ended already."
	})
	chat.AwaitText("third")
}

// TestTelegramStopButton stops a turn with the button of its status.
func TestTelegramStopButton(t *testing.T) {
	t.Parallel()
	m, api, anna, _ := newChatWith(t, nil)
	group := api.Supergroup(-1001, "Team", anna)
	g := m.start()
	group.Send(anna, "toolwait "+m.path("never"))
	status := group.AwaitMessage("a status", stoppable)
	late := lateness(t)
	tap := group.Tap(anna, status.ID, "⏹ Stop")
	api.Await(t, "the tap is answered", func() bool {
		a, answered := tap.Answer()
		return answered && a.Text == "Stopped."
	})
	group.AwaitMessage("that it was stopped", fromBot("⏹ "))
	g.newestStoppedWithin("tg--1001", promised, late())
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
			m, api, anna, chat := newChatWith(t, nil)
			if where == "group" {
				chat = api.Supergroup(-1001, "Team", anna)
			} else {
				api.Script("sendMessageDraft", 0, botapi.Refuse(404, "Not Found"))
			}
			m.start()
			chat.Send(anna, "ticks "+m.path("go"))
			first := chat.AwaitMessage("the beginning", fromBot("1 2 3 "))
			if group := where == "group"; group != (first.ReplyTo != 0) {
				t.Errorf("it is a reply to %d", first.ReplyTo)
			}
			m.touch("go")
			chat.AwaitMessage("the answer in its place", func(now botapi.Message) bool {
				return now.ID == first.ID && strings.HasPrefix(now.Text, "ticked ")
			})
			m.settled(api, chat)
			for _, now := range written(chat) {
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
			m, api, anna, chat := newChatWith(t, []botapi.Option{botapi.WithoutRates()})
			if group {
				chat = api.Supergroup(-1001, "Team", anna)
			}
			m.touch("go")
			m.start()
			pages := strings.TrimSpace(strings.Repeat("All this is said before anything is done. ", 90))
			chat.Send(anna, "interim "+m.path("go")+" "+pages)
			chat.AwaitText("final: ran: wait for ")
			m.settled(api, chat)
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
func (m *machine) settled(api *botapi.Server, chat *botapi.Chat) {
	m.t.Helper()
	m.eventually("no status is left", func() bool {
		for _, now := range chat.FromBot() {
			if stoppable(now) {
				return false
			}
		}
		return true
	})
	api.Await(m.t, "no call is under way", func() bool {
		for _, c := range api.Calls() {
			if c.Outcome == "" && c.Method != "getUpdates" {
				return false
			}
		}
		return true
	})
}
