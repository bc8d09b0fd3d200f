package telegram

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// TestTelegramWaiting tells what a message waits for, and takes that away when it runs
// or becomes its status.
func TestTelegramWaiting(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		settings []string
		before   func(g *harness.Gateway) (finish func()) // keeps what comes next on tg-7 waiting
		want     string
	}{
		"for a turn of others": {
			before: func(g *harness.Gateway) func() {
				_, finish := g.Occupy("tg-7")
				return finish
			},
			want: "Your message is number 1 in the queue · ",
		},
		"for a session": {
			settings: []string{"BARECLAW_MAX_SESSIONS=1"},
			before: func(g *harness.Gateway) func() {
				_, finish := g.Occupy("http")
				return finish
			},
			want: "BARECLAW_MAX_SESSIONS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTalk(t, row.settings...)
			finish := row.before(c.Gateway)
			c.send("echo done")
			status := c.chat.AwaitMessage("what it waits for", func(now botapi.Message) bool {
				return now.FromBot && strings.Contains(now.Text, row.want)
			})
			finish()
			c.chat.AwaitText("done")
			c.chat.AwaitGone(status.ID)
			settled(c.Machine, c.api, c.chat)
			if got := harness.Texts(c.chat); len(got) != 1 {
				t.Errorf("the chat has %q", got)
			}
			c.Balanced()
		})
	}
}

// TestTelegramParked tells why a message waits that is begun later, and until when.
func TestTelegramParked(t *testing.T) {
	t.Parallel()
	c := newTalk(t, "BARECLAW_DAILY_BUDGET_USD=0.005", harness.Noon())
	c.ask("echo spent", "spent")
	c.send("echo later")
	c.chat.AwaitMessage("why it waits", func(now botapi.Message) bool {
		return now.FromBot && strings.Contains(now.Text, "BARECLAW_DAILY_BUDGET_USD") && len(now.Buttons) == 0
	})
	if n := c.Begun("echo later"); n != 0 {
		t.Errorf("it was begun %d times", n)
	}
	c.Kill()
}

// TestTelegramStalled tells of a turn of which nothing is heard, with a button that
// stops it.
func TestTelegramStalled(t *testing.T) {
	t.Parallel()
	c := newTalk(t, "BARECLAW_STALL_AFTER=2s")
	c.send("wait " + c.Path("never"))
	told := c.chat.AwaitMessage("a word", fromBot("⏳ Nothing was heard of Claude for "))
	c.chat.AwaitMessage("a status that says so", fromBot("Nothing heard for "))
	c.chat.Tap(c.anna, told.ID, "⏹ Stop")
	c.chat.AwaitMessage("that it was stopped", fromBot("⏹ "))
	c.Balanced()
}
