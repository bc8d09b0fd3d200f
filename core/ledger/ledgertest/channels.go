package ledgertest

import (
	"errors"
	"reflect"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// Settings are found again by another process, one value set leaves the others.
func testSettings(t *testing.T, s Subject) {
	dir := t.TempDir()
	l := s.openIn(t, dir)
	model := "haiku"
	mode := "plan"
	some := "channel_list,push_send"
	none := ""
	rule := func(text string) core.Rule {
		return core.Rule{
			ID:        NewID(),
			Channel:   "c",
			Rule:      text,
			Tool:      "Bash",
			CreatedAt: Day,
			By:        "ann",
		}
	}
	one := rule("Bash(a, b)")
	two := rule("Bash(c)")
	same := rule("Bash(c)")
	for _, c := range []core.SettingsChange{
		{Channel: "c", Model: &model},
		{Channel: "c", PermissionMode: &mode, Add: []core.Rule{one, two}},
		{Channel: "c", Add: []core.Rule{same}},
		{Channel: "c", Remove: []string{one.ID, "unknown"}},
		{Channel: "d", Model: &model},
		{Channel: "d", Model: &none},
		{Channel: "c", Tools: &some},
		{Channel: "f", Tools: &some},
		{Channel: "f", Tools: &none},
		{Channel: "e", Remove: []string{two.ID}},
	} {
		MustWrite(t, l, core.Change{Settings: []core.SettingsChange{c}})
	}
	check.OK(t, l.Close())
	l = s.openIn(t, dir)
	got, err := l.Settings(t.Context())
	check.OK(t, err)
	want := map[core.ChannelKey]core.Settings{
		"c": {
			Model:          "haiku",
			PermissionMode: "plan",
			Tools:          some,
			Rules:          []core.Rule{two},
		},
		"d": {HadModel: true},
		"f": {},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("settings are %+v\nwant %+v", got, want)
	}
}

// testForget: what a channel's people and Claude said is gone, with all that belongs to it; what was
// counted and spent stays, and so does what waits, runs or is still to be delivered.
func testForget(t *testing.T, s Subject) {
	l := s.open(t)
	gone, turn := Begun(t, l)
	c := Answered(gone, turn)
	c.Approvals = []*core.Approval{{
		ID:        "a",
		Channel:   "c",
		Message:   gone.ID,
		Turn:      turn.ID,
		State:     core.ApprovalAllowed,
		CreatedAt: Day,
	}}
	c.Background = []*core.Background{{
		ID:        "b",
		Channel:   "c",
		Text:      "done",
		CreatedAt: Day,
	}}
	c.Settings = []core.SettingsChange{{Channel: "c", Model: new("haiku"), Add: []core.Rule{{ID: "r", Channel: "c", Rule: "Bash(ls)"}}}}
	MustWrite(t, l, c)
	undelivered, second := Begun(t, l)
	MustWrite(t, l, Answered(undelivered, second))
	d := &core.Delivery{
		ID:        "d",
		Kind:      core.DeliverReply,
		Adapter:   "a",
		Channel:   "c",
		Message:   undelivered.ID,
		CreatedAt: Day,
	}
	MustWrite(t, l, deliver(d))
	running, third := Begun(t, l)
	other := Message("other")
	MustWrite(t, l, Accept(other))
	before, err := l.Balance(t.Context())
	check.OK(t, err)
	forget := func() { MustWrite(t, l, core.Change{Forget: []core.ChannelKey{"c"}}) }
	forget()
	forget() // changes nothing more
	WantBalance(t, l, before)
	wantSpent(t, l, Day, 0.5)
	for id, kept := range map[core.MessageID]bool{
		gone.ID:        false,
		undelivered.ID: true,
		running.ID:     true,
		other.ID:       true,
	} {
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
	sent.State = core.DeliverySent
	sent.EndedAt = Day
	MustWrite(t, l, delivered(&sent))
	forget()
	if _, err := l.Message(t.Context(), undelivered.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("what was delivered is left: %v", err)
	}
	if known, err := l.Delivery(t.Context(), "d"); err != nil || known.State != core.DeliverySent {
		t.Errorf("the delivery is %+v, %v: it could come again", known, err)
	}
	MustWrite(t, l, Answered(running, third))
	if all, err := l.Messages(t.Context(), "c", 10, ""); len(all) != 1 || err != nil {
		t.Errorf("%d messages, %v", len(all), err)
	}
}
