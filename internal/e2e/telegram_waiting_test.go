package e2e

import (
	"strings"
	"testing"

	"bareclaw/internal/testkit/botapi"
)

// TestTelegramWaiting tells what a message waits for, and takes that away when it runs
// or becomes its status.
func TestTelegramWaiting(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		settings []string
		before   func(g *gateway) (finish func()) // keeps what comes next on tg-7 waiting
		want     string
	}{
		"for a turn of others": {
			before: func(g *gateway) func() {
				_, finish := g.occupy("tg-7")
				return finish
			},
			want: "Your message is number 1 in the queue · ",
		},
		"for a session": {
			settings: []string{"BARECLAW_MAX_SESSIONS=1"},
			before: func(g *gateway) func() {
				_, finish := g.occupy("http")
				return finish
			},
			want: "BARECLAW_MAX_SESSIONS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := newChatWith(t, nil, row.settings...)
			g := m.start()
			finish := row.before(g)
			chat.Send(anna, "echo done")
			status := chat.AwaitMessage("what it waits for", func(now botapi.Message) bool {
				return now.FromBot && strings.Contains(now.Text, row.want)
			})
			finish()
			chat.AwaitText("done")
			chat.AwaitGone(status.ID)
			m.settled(api, chat)
			if got := texts(chat); len(got) != 1 {
				t.Errorf("the chat has %q", got)
			}
			g.balanced()
		})
	}
}

// TestTelegramParked tells why a message waits that is begun later, and until when.
func TestTelegramParked(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := newChatWith(t, nil, "BARECLAW_DAILY_BUDGET_USD=0.005", noon())
	g := m.start()
	chat.Send(anna, "echo spent")
	chat.AwaitText("spent")
	chat.Send(anna, "echo later")
	chat.AwaitMessage("why it waits", func(now botapi.Message) bool {
		return now.FromBot && strings.Contains(now.Text, "BARECLAW_DAILY_BUDGET_USD") && len(now.Buttons) == 0
	})
	if n := m.begun("echo later"); n != 0 {
		t.Errorf("it was begun %d times", n)
	}
	g.kill()
}

// TestTelegramStalled tells of a turn of which nothing is heard, with a button that
// stops it.
func TestTelegramStalled(t *testing.T) {
	t.Parallel()
	m, _, anna, chat := newChatWith(t, nil, "BARECLAW_STALL_AFTER=2s")
	g := m.start()
	chat.Send(anna, "wait "+m.path("never"))
	told := chat.AwaitMessage("a word", fromBot("⏳ Nothing was heard of Claude for "))
	chat.AwaitMessage("a status that says so", fromBot("Nothing heard for "))
	chat.Tap(anna, told.ID, "⏹ Stop")
	chat.AwaitMessage("that it was stopped", fromBot("⏹ "))
	g.balanced()
}
