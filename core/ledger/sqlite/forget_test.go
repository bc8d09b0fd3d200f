package sqlite_test

import (
	"errors"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// TestForget: what a channel's people and Claude said is gone, with all that belongs to it; what was
// counted and spent stays, and so does what waits, runs or is still to be delivered.
func TestForget(t *testing.T) {
	t.Parallel()
	l := open(t)
	gone, turn := begun(t, l)
	c := answered(gone, turn)
	c.Approvals = []*core.Approval{{ID: "a", Channel: "c", Message: gone.ID, Turn: turn.ID, State: core.ApprovalAllowed, CreatedAt: day}}
	c.Background = []*core.Background{{ID: "b", Channel: "c", Text: "done", CreatedAt: day}}
	c.Settings = []core.SettingsChange{{Channel: "c", Model: new("haiku"), Add: []core.Rule{{ID: "r", Channel: "c", Rule: "Bash(ls)"}}}}
	mustWrite(t, l, c)
	undelivered, second := begun(t, l)
	mustWrite(t, l, answered(undelivered, second))
	d := &core.Delivery{ID: "d", Kind: core.DeliverReply, Adapter: "a", Channel: "c", Message: undelivered.ID, CreatedAt: day}
	mustWrite(t, l, core.Change{Deliver: []*core.Delivery{d}})
	running, third := begun(t, l)
	other := message("other")
	mustWrite(t, l, core.Change{Accept: []*core.Message{other}})
	before, err := l.Balance(t.Context())
	check.OK(t, err)
	forget := func() { mustWrite(t, l, core.Change{Forget: []core.ChannelKey{"c"}}) }
	forget()
	forget() // changes nothing more
	wantBalance(t, l, before)
	wantSpent(t, l, day, 0.5)
	for id, kept := range map[core.MessageID]bool{gone.ID: false, undelivered.ID: true, running.ID: true, other.ID: true} {
		if _, err := l.Message(t.Context(), id); kept != (err == nil) || !kept && !errors.Is(err, core.ErrNotFound) {
			t.Errorf("message %s: %v", id, err)
		}
	}
	for id, kept := range map[core.TurnID]bool{turn.ID: false, second.ID: true, third.ID: true} {
		if _, err := l.Turn(t.Context(), id); kept != (err == nil) {
			t.Errorf("turn %s: %v", id, err)
		}
	}
	if of, err := l.TurnApprovals(t.Context(), turn.ID); len(of) != 0 || err != nil {
		t.Errorf("approvals are left: %v, %v", of, err)
	}
	if all, err := l.Backgrounds(t.Context(), "c", 10); len(all) != 0 || err != nil {
		t.Errorf("background results are left: %v, %v", all, err)
	}
	if own, err := l.Settings(t.Context()); len(own) != 0 || err != nil {
		t.Errorf("settings are left: %v, %v", own, err)
	}
	sent := *d
	sent.State, sent.EndedAt = core.DeliverySent, day
	mustWrite(t, l, core.Change{Delivered: []*core.Delivery{&sent}})
	forget()
	if _, err := l.Message(t.Context(), undelivered.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("what was delivered is left: %v", err)
	}
	if known, err := l.Delivery(t.Context(), "d"); err != nil || known.State != core.DeliverySent {
		t.Errorf("the delivery is %+v, %v: it could come again", known, err)
	}
	mustWrite(t, l, answered(running, third))
	if all, err := l.Messages(t.Context(), "c", 10, ""); len(all) != 1 || err != nil {
		t.Errorf("%d messages, %v", len(all), err)
	}
}

// TestMessageIDs: messages are found by both ends of their ids, also before they are posted.
func TestMessageIDs(t *testing.T) {
	t.Parallel()
	l := open(t)
	m := message("c")
	mustWrite(t, l, core.Change{Accept: []*core.Message{m}})
	id := string(m.ID)
	for text, want := range map[string]int{id: 1, id[:20]: 1, id[28:]: 1, "%": 0, "zz": 0, id[1:20]: 0} {
		if got, err := l.MessageIDs(t.Context(), text, 5); err != nil || len(got) != want {
			t.Errorf("%q finds %v, %v", text, got, err)
		}
	}
}
