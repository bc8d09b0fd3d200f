package telegram

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

// newGateTalk is a chat whose agent may do less unasked than that of the channel boss.
func newGateTalk(t *testing.T) *talk {
	t.Helper()
	c := newQuickTalk(t, "BARECLAW_PERMISSION_MODE=default")
	c.Must("PATCH", "/channels/boss", harness.Obj{"permission_mode": "bypassPermissions"}, 200)
	c.Say("boss", "echo ready")
	return c
}

const sendsToBoss = `mcp - channel_send {"channel":"boss","text":"echo carried out"}`

// TestTelegramGate: what an agent may not do by itself, a person in its chat can allow.
func TestTelegramGate(t *testing.T) {
	t.Parallel()
	for button, row := range map[string]struct{ closed, text string }{
		"Allow": {"Allowed by Anna Arden", `"state":"answered"`},
		"Deny":  {"Denied by Anna Arden", "a person has refused it"},
	} {
		t.Run(button, func(t *testing.T) {
			t.Parallel()
			c := newGateTalk(t)
			c.send(sendsToBoss)
			q := c.asks(button, "Claude asks to use mcp__bareclaw__channel_send", `It acts on channel "boss", whose agent has the permission mode bypassPermissions and may do more unasked than this one.`)
			if len(q.Buttons) != 1 || len(q.Buttons[0]) != 2 {
				t.Errorf("the buttons are %+v", q.Buttons)
			}
			c.tap(q, button, row.closed)
			c.settles(q, row.closed)
			c.says(row.text)
			c.Balanced()
		})
	}
}

// TestTelegramGateAcrossDaemons: a call that waits for a person is carried out once, whatever becomes of
// the daemon meanwhile.
func TestTelegramGateAcrossDaemons(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(c *talk){
		"killed":    (*talk).again,
		"restarted": func(c *talk) { c.Restart() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newGateTalk(t)
			c.send(sendsToBoss)
			q := c.asks("Allow")
			c.recorded()
			again(c)
			c.tap(q, "Allow", "Allowed by Anna Arden")
			c.settles(q, "Allowed by Anna Arden")
			c.says(`"state":"answered"`)
			if n := harness.CountText(c.chat, "Claude asks"); n != 1 {
				t.Errorf("asked %d times, want once", n)
			}
			if n := c.Must("GET", "/channels/boss", nil, 200).Number("messages"); n != 2 {
				t.Errorf("the channel has %v messages, want 2", n)
			}
			c.Balanced()
		})
	}
}

// TestTelegramGateIsInterrupted: a call that waits for a person ends with its turn.
func TestTelegramGateIsInterrupted(t *testing.T) {
	t.Parallel()
	c := newGateTalk(t)
	c.send(sendsToBoss)
	q := c.asks("Allow")
	b, _ := q.Button("Allow")
	c.send("/stop")
	c.settles(q, "The turn ended before this was answered")
	c.tapData(q, b.Data, "Too late", "The turn ended")
	c.Balanced()
}
