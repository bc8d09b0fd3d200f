package telegram

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
)

func TestTelegramQuestion(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	chat.Send(anna, harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Colours()}}))
	q := harness.Asks(chat, "Blue", "Claude asks", "Which colour?", "Red – warm *and* loud", "Blue – cold")
	told(t, api, chat.Tap(anna, q.ID, "Other…"), "Reply to this message")
	told(t, api, chat.Tap(anna, q.ID, "Blue"), "Answered by Anna Arden")
	harness.Settled(t, api, chat, q.ID, "Which colour? Blue", "Answered by Anna Arden")
	harness.Says(chat, "final: allowed AskUserQuestion", `"answers":{"Which colour?":"Blue"}`)
	g.Balanced()
}

// Several questions come one after the other, and what is answered of them survives
// the daemon.
func TestTelegramQuestions(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	name := harness.Obj{"question": "Whose?", "header": "Name", "multiSelect": false, "options": []harness.Obj{harness.Option("Mine", ""), harness.Option("Yours", "")}}
	chat.Send(anna, harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Colours(), harness.Toppings(), name}}))
	q := harness.Asks(chat, "Red", "(1 of 3)", "Which colour?")
	red, _ := q.Button("Red")
	chat.Tap(anna, q.ID, "Red")
	q = harness.Becomes(t, api, chat, q.ID, "✓ Which colour? Red", "(2 of 3)", "Which toppings?")
	told(t, api, chat.Tap(anna, q.ID, "Done"), "Choose at least one")
	told(t, api, chat.TapStale(anna, q.ID, red.Data), "already been answered")
	for _, tap := range []struct{ button, shows string }{{"☐ Olives", "☑ Olives"}, {"☐ Cheese", "☑ Cheese"}, {"☐ Ham", "☑ Ham"}, {"☑ Ham", "☐ Ham"}} {
		chat.Tap(anna, q.ID, tap.button)
		api.Await(t, tap.shows, func() bool {
			m, _ := chat.Message(q.ID)
			_, ok := m.Button(tap.shows)
			return ok
		})
	}
	g.Kill()
	g = m.Start()
	chat.Tap(anna, q.ID, "Done")
	q = harness.Becomes(t, api, chat, q.ID, "✓ Which toppings? Cheese, Olives", "(3 of 3)", "Whose?")
	chat.Send(anna, "the *neighbour's*", botapi.ReplyingTo(q.ID))
	harness.Settled(t, api, chat, q.ID, "✓ Whose? the *neighbour's*", "Answered by Anna Arden")
	answer := harness.Says(chat, "final: allowed AskUserQuestion", `"Which colour?":"Red"`, `"Which toppings?":"Cheese, Olives"`)
	if n := g.Balanced(); n != 1 || answer.ID < q.ID {
		t.Errorf("%d messages were accepted, want 1", n)
	}
}

func TestTelegramQuestionIsNotAnswered(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	g := m.Start()
	chat.Send(anna, harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Toppings()}}))
	q := harness.Asks(chat, "No answer")
	done, _ := q.Button("Done")
	told(t, api, chat.Tap(anna, q.ID, "No answer"), "Not answered by Anna Arden")
	harness.Settled(t, api, chat, q.ID, "Which toppings?", "Not answered by Anna Arden")
	told(t, api, chat.TapStale(anna, q.ID, done.Data), "Too late: Not answered by Anna Arden")
	harness.Says(chat, "final: ")
	g.Balanced()
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
			m, api, anna, chat := harness.NewChat(t, "BARECLAW_APPROVALS=ask")
			g := m.Start()
			var steps strings.Builder
			for i := range 50 {
				fmt.Fprintf(&steps, "## Step %d\n\nDo **it**, %s.\n\n", i, strings.Repeat("carefully and slowly, ", 5))
			}
			id := g.Tell(channelOf(chat), harness.Calling(t, "ExitPlanMode", harness.Obj{"plan": steps.String()}))
			q := harness.Asks(chat, "Approve", "Claude's plan", "Shall Claude carry it out?")
			first, second := harness.Says(chat, "Step 0"), harness.Says(chat, "Step 49")
			if first.ID == second.ID || first.ID > second.ID || second.ID > q.ID || strings.Contains(first.Text, "##") {
				t.Errorf("the plan is in messages %d to %d, the question in %d: %q", first.ID, second.ID, q.ID, first.Text)
			}
			row.answer(chat, anna, api, q)
			harness.Settled(t, api, chat, q.ID, row.closed)
			if a := g.Outcome(id); !strings.HasPrefix(a.Str("text"), row.text) {
				t.Errorf("the outcome is %.200q, want %q", a.Str("text"), row.text)
			}
			g.Balanced()
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
			m, api, anna, chat := harness.NewChat(t)
			g := m.Start()
			chat.Send(anna, "once "+m.Path("once")+" tool 600000 long")
			g.Eventually("the tool runs", func() bool { return m.Did("tool", "long") })
			h := m.Hosts()[channelOf(chat)]
			if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			q := harness.Asks(chat, button, "Claude was cut off", "It had started:", "Bash (long)", "Shall Claude continue")
			b, _ := q.Button(button)
			recorded(anna, chat)
			g.Kill()
			g = m.Start()
			chat.Send(anna, "what is that?", botapi.ReplyingTo(q.ID)) // nothing waits: a message like any other
			harness.Says(chat, "ok: ")
			told(t, api, chat.Tap(anna, q.ID, button), row.closed)
			harness.Settled(t, api, chat, q.ID, row.closed)
			told(t, api, chat.TapStale(anna, q.ID, b.Data), "Too late: "+row.closed)
			if row.runs == 2 {
				answers(chat, "again")
			}
			g.Balanced()
		})
	}
}
