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
	c := newQuickTalk(t)
	c.send(harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Colours()}}))
	q := c.asks("Blue", "Claude asks", "Which colour?", "Red – warm *and* loud", "Blue – cold")
	c.send("7", botapi.ReplyingTo(q.ID))
	c.says("There is no option 7. Choose 1 to 2")
	c.tap(q, "Other…", "your next message here is the answer")
	c.becomes(q, "The next message of Anna Arden is the answer.")
	c.tap(q, "Blue", "Answered by Anna Arden")
	c.settles(q, "Which colour? Blue", "Answered by Anna Arden")
	c.says("final: allowed AskUserQuestion", `"answers":{"Which colour?":"Blue"}`)
	c.Balanced()
}

// After “Other…” the next text is the answer, also with a restart between them, and nothing else is.
func TestTelegramOwnWords(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"7", "no, *violet*"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			c := newQuickTalk(t)
			c.send(harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Colours(), harness.Toppings()}}))
			q := c.asks("Blue", "Which colour?", "1. Red", "2. Blue")
			c.tap(q, "Other…", "your next message here is the answer")
			c.recorded()
			c.again()
			c.send(words)
			c.says("Noted. Please answer the next question.")
			q = c.becomes(q, "✓ Which colour? "+words, "(2 of 2)", "Which toppings?")
			c.send("3, 1", botapi.ReplyingTo(q.ID))
			c.says("final: allowed AskUserQuestion", `"Which colour?":"`+strings.ReplaceAll(words, "*", ""), `"Which toppings?":"Olives, Cheese"`)
			if n := c.Balanced(); n != 1 {
				t.Errorf("%d messages were accepted, want 1", n)
			}
		})
	}
}

// Several questions come one after the other, and what is answered of them survives the
// daemon.
func TestTelegramQuestions(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	name := harness.Obj{"question": "Whose?", "header": "Name", "multiSelect": false, "options": []harness.Obj{harness.Option("Mine", ""), harness.Option("Yours", "")}}
	c.send(harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Colours(), harness.Toppings(), name}}))
	q := c.asks("Red", "(1 of 3)", "Which colour?")
	red, _ := q.Button("Red")
	c.tap(q, "Red")
	q = c.becomes(q, "✓ Which colour? Red", "(2 of 3)", "Which toppings?")
	c.tap(q, "Done", "Choose at least one")
	c.tapData(q, red.Data, "already been answered")
	for _, tap := range []struct{ button, shows string }{{"☐ Olives", "☑ Olives"}, {"☐ Cheese", "☑ Cheese"}, {"☐ Ham", "☑ Ham"}, {"☑ Ham", "☐ Ham"}} {
		c.tap(q, tap.button)
		c.asks(tap.shows)
	}
	c.again()
	c.tap(q, "Done")
	q = c.becomes(q, "✓ Which toppings? Cheese, Olives", "(3 of 3)", "Whose?")
	c.send("the *neighbour's*", botapi.ReplyingTo(q.ID))
	c.settles(q, "✓ Whose? the *neighbour's*", "Answered by Anna Arden")
	answer := c.says("final: allowed AskUserQuestion", `"Which colour?":"Red"`, `"Which toppings?":"Cheese, Olives"`)
	if n := c.Balanced(); n != 1 || answer.ID < q.ID {
		t.Errorf("%d messages were accepted, want 1", n)
	}
}

func TestTelegramQuestionIsNotAnswered(t *testing.T) {
	t.Parallel()
	c := newQuickTalk(t)
	c.send(harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Toppings()}}))
	q := c.asks("No answer")
	done, _ := q.Button("Done")
	c.tap(q, "No answer", "Not answered by Anna Arden")
	c.settles(q, "Which toppings?", "Not answered by Anna Arden")
	c.tapData(q, done.Data, "Too late: Not answered by Anna Arden")
	c.says("final: ")
	c.Balanced()
}

func TestTelegramPlan(t *testing.T) {
	t.Parallel()
	for closed, row := range map[string]struct {
		answer func(c *talk, q botapi.Message)
		text   string
	}{
		"Approved by Anna Arden": {func(c *talk, q botapi.Message) { c.tap(q, "Approve") }, "final: allowed ExitPlanMode"},
		"Sent back by Anna Arden: skip step two": {func(c *talk, q botapi.Message) {
			c.tap(q, "Revise", "Write what to change")
			c.send("skip step two")
		}, "final: skip step two"},
		"Sent back by Anna Arden: skip step three": {func(c *talk, q botapi.Message) {
			c.send("skip step three", botapi.ReplyingTo(q.ID))
		}, "final: skip step three"},
	} {
		t.Run(closed, func(t *testing.T) {
			t.Parallel()
			c := newQuickTalk(t, "BARECLAW_APPROVALS=ask")
			var steps strings.Builder
			for i := range 50 {
				fmt.Fprintf(&steps, "## Step %d\n\nDo **it**, %s.\n\n", i, strings.Repeat("carefully and slowly, ", 5))
			}
			id := c.Tell(c.key(), harness.Calling(t, "ExitPlanMode", harness.Obj{"plan": steps.String()}))
			q := c.asks("Approve", "Claude's plan", "Shall Claude carry it out?")
			first, second := c.says("Step 0"), c.says("Step 49")
			if first.ID >= second.ID || second.ID > q.ID || strings.Contains(first.Text, "##") {
				t.Errorf("the plan is in messages %d to %d, the question in %d: %q", first.ID, second.ID, q.ID, first.Text)
			}
			row.answer(c, q)
			c.settles(q, closed)
			if a := c.Outcome(id); !strings.HasPrefix(a.Str("text"), row.text) {
				t.Errorf("the outcome is %.200q, want %q", a.Str("text"), row.text)
			}
			c.Balanced()
		})
	}
}

// A turn that is cut in its work is gone on with, or dropped, by a tap.
func TestTelegramContinue(t *testing.T) {
	t.Parallel()
	for button, closed := range map[string]string{"Continue": "Continued by Anna Arden", "Drop": "Dropped by Anna Arden"} {
		t.Run(button, func(t *testing.T) {
			t.Parallel()
			c := newQuickTalk(t)
			c.send("once " + c.Path("once") + " tool 600000 long")
			c.Eventually("the tool runs", func() bool { return c.Did("tool", "long") })
			h := c.Hosts()[c.key()]
			if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			q := c.asks(button, "Claude was cut off", "It had started:", "Bash (long)", "Shall Claude continue")
			b, _ := q.Button(button)
			c.recorded()
			c.again()
			c.send("what is that?", botapi.ReplyingTo(q.ID)) // nothing waits: a message like any other
			c.says("ok: ")
			c.tap(q, button, closed)
			c.settles(q, closed)
			c.tapData(q, b.Data, "Too late: "+closed)
			if button == "Continue" {
				answers(c.chat, "again")
			}
			c.Balanced()
		})
	}
}
