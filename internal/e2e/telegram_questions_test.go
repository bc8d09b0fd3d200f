package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
)

// calling is a message by which the fake agent calls a tool that asks first.
func calling(t testing.TB, tool string, input obj) string {
	t.Helper()
	b, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return "call " + tool + " " + string(b)
}

func option(label, description string) obj { return obj{"label": label, "description": description} }

// colours asks for one, toppings for several.
func colours() obj {
	return obj{"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []obj{option("Red", "warm *and* loud"), option("Blue", "cold")}}
}

func toppings() obj {
	return obj{"question": "Which toppings?", "header": "Toppings", "multiSelect": true,
		"options": []obj{option("Cheese", ""), option("Ham", "smoked"), option("Olives", "")}}
}

func TestTelegramQuestion(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	g := m.start()
	chat.Send(anna, calling(t, "AskUserQuestion", obj{"questions": []obj{colours()}}))
	q := asks(chat, "Blue", "Claude asks", "Which colour?", "Red – warm *and* loud", "Blue – cold")
	told(t, api, chat.Tap(anna, q.ID, "Other…"), "Reply to this message")
	told(t, api, chat.Tap(anna, q.ID, "Blue"), "Answered by Anna Arden")
	settled(t, api, chat, q.ID, "Which colour? Blue", "Answered by Anna Arden")
	says(chat, "final: allowed AskUserQuestion", `"answers":{"Which colour?":"Blue"}`)
	g.balanced()
}

// Several questions come one after the other, and what is answered of them survives
// the daemon.
func TestTelegramQuestions(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	g := m.start()
	name := obj{"question": "Whose?", "header": "Name", "multiSelect": false, "options": []obj{option("Mine", ""), option("Yours", "")}}
	chat.Send(anna, calling(t, "AskUserQuestion", obj{"questions": []obj{colours(), toppings(), name}}))
	q := asks(chat, "Red", "(1 of 3)", "Which colour?")
	red, _ := q.Button("Red")
	chat.Tap(anna, q.ID, "Red")
	q = becomes(t, api, chat, q.ID, "✓ Which colour? Red", "(2 of 3)", "Which toppings?")
	told(t, api, chat.Tap(anna, q.ID, "Done"), "Choose at least one")
	told(t, api, chat.TapStale(anna, q.ID, red.Data), "answered already")
	for _, tap := range []struct{ button, shows string }{{"☐ Olives", "☑ Olives"}, {"☐ Cheese", "☑ Cheese"}, {"☐ Ham", "☑ Ham"}, {"☑ Ham", "☐ Ham"}} {
		chat.Tap(anna, q.ID, tap.button)
		api.Await(t, tap.shows, func() bool {
			m, _ := chat.Message(q.ID)
			_, ok := m.Button(tap.shows)
			return ok
		})
	}
	g.kill()
	g = m.start()
	chat.Tap(anna, q.ID, "Done")
	q = becomes(t, api, chat, q.ID, "✓ Which toppings? Cheese, Olives", "(3 of 3)", "Whose?")
	chat.Send(anna, "the *neighbour's*", botapi.ReplyingTo(q.ID))
	settled(t, api, chat, q.ID, "✓ Whose? the *neighbour's*", "Answered by Anna Arden")
	answer := says(chat, "final: allowed AskUserQuestion", `"Which colour?":"Red"`, `"Which toppings?":"Cheese, Olives"`)
	if n := g.balanced(); n != 1 || answer.ID < q.ID {
		t.Errorf("%d messages were accepted, want 1", n)
	}
}

func TestTelegramQuestionIsNotAnswered(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := newChat(t)
	g := m.start()
	chat.Send(anna, calling(t, "AskUserQuestion", obj{"questions": []obj{toppings()}}))
	q := asks(chat, "No answer")
	done, _ := q.Button("Done")
	told(t, api, chat.Tap(anna, q.ID, "No answer"), "Not answered by Anna Arden")
	settled(t, api, chat, q.ID, "Which toppings?", "Not answered by Anna Arden")
	told(t, api, chat.TapStale(anna, q.ID, done.Data), "Too late: Not answered by Anna Arden")
	says(chat, "final: ")
	g.balanced()
}

func TestTelegramPlan(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answer func(chat *botapi.Chat, by *botapi.User, api *botapi.Server, q botapi.Message)
		closed string
		text   string
	}{
		"approved": {func(chat *botapi.Chat, by *botapi.User, _ *botapi.Server, q botapi.Message) {
			chat.Tap(by, q.ID, "Approve")
		}, "Approved by Anna Arden", "final: allowed ExitPlanMode"},
		"revised": {func(chat *botapi.Chat, by *botapi.User, api *botapi.Server, q botapi.Message) {
			told(t, api, chat.Tap(by, q.ID, "Revise"), "Reply to this message")
			chat.Send(by, "skip step two", botapi.ReplyingTo(q.ID))
		}, "Sent back by Anna Arden: skip step two", "final: skip step two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := newChat(t, "BARECLAW_APPROVALS=ask")
			g := m.start()
			var steps strings.Builder
			for i := range 50 {
				fmt.Fprintf(&steps, "## Step %d\n\nDo **it**, %s.\n\n", i, strings.Repeat("carefully and slowly, ", 5))
			}
			id := g.tell(channelOf(chat), calling(t, "ExitPlanMode", obj{"plan": steps.String()}))
			q := asks(chat, "Approve", "Claude's plan", "Shall Claude carry it out?")
			first, second := says(chat, "Step 0"), says(chat, "Step 49")
			if first.ID == second.ID || first.ID > second.ID || second.ID > q.ID || strings.Contains(first.Text, "##") {
				t.Errorf("the plan is in messages %d to %d, the question in %d: %q", first.ID, second.ID, q.ID, first.Text)
			}
			row.answer(chat, anna, api, q)
			settled(t, api, chat, q.ID, row.closed)
			if a := g.outcome(id); !strings.HasPrefix(a.str("text"), row.text) {
				t.Errorf("the outcome is %.200q, want %q", a.str("text"), row.text)
			}
			g.balanced()
		})
	}
}

// A turn that is cut in its work is gone on with, or dropped, by a tap.
func TestTelegramContinue(t *testing.T) {
	t.Parallel()
	for button, row := range map[string]struct {
		closed string
		runs   int
	}{"Continue": {"Continued by Anna Arden", 2}, "Drop": {"Dropped by Anna Arden", 1}} {
		t.Run(button, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := newChat(t)
			g := m.start()
			chat.Send(anna, "once "+m.path("once")+" tool 600000 long")
			g.eventually("the tool runs", func() bool { return m.did("tool", "long") })
			h := m.hosts()[channelOf(chat)]
			if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			q := asks(chat, button, "Claude was cut off", "It had begun:", "Bash (long)", "Shall it go on")
			b, _ := q.Button(button)
			recorded(anna, chat)
			g.kill()
			g = m.start()
			chat.Send(anna, "what is that?", botapi.ReplyingTo(q.ID)) // nothing waits: a message like any other
			says(chat, "ok: ")
			told(t, api, chat.Tap(anna, q.ID, button), row.closed)
			settled(t, api, chat, q.ID, row.closed)
			told(t, api, chat.TapStale(anna, q.ID, b.Data), "Too late: "+row.closed)
			if row.runs == 2 {
				answers(chat, "again")
			}
			g.balanced()
		})
	}
}
