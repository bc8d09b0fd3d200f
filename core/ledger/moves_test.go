package ledger_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"bareclaw/core"
)

// What waits goes to another channel, before what waits there, with all that belongs to
// it; what has an outcome stays. Twice is as good as once.
func TestMove(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openAt(t, path)
	there, old, one, two := message("d"), message("c"), message("c"), message("c")
	for _, m := range []*core.Message{there, old, one} {
		mustWrite(t, l, core.Change{Accept: []*core.Message{m}})
	}
	mustWrite(t, l, core.Change{Begin: []*core.Turn{turnOf(old)}})
	mustWrite(t, l, core.Change{Reorder: []core.Rank{{ID: there.ID, Rank: -2}}})
	mustWrite(t, l, core.Change{Accept: []*core.Message{two}})
	haiku, opus, plan := "haiku", "opus", "plan"
	rule := func(key core.ChannelKey, text string) core.Rule {
		return core.Rule{ID: newID(), Channel: key, Rule: text, Tool: text, CreatedAt: day}
	}
	mine, same, theirs := rule("c", "Read"), rule("c", "Edit"), rule("d", "Edit")
	mustWrite(t, l, core.Change{Settings: []core.SettingsChange{
		{Channel: "c", Model: &haiku, PermissionMode: &plan, Add: []core.Rule{mine, same}}, {Channel: "d", Model: &opus, Add: []core.Rule{theirs}},
	}})
	ask := func(state core.ApprovalState) *core.Approval {
		return &core.Approval{ID: newID(), Kind: core.ApprovalContinue, Channel: "c", Message: old.ID, State: state, CreatedAt: day, ExpiresAt: day}
	}
	pending, decided := ask(core.ApprovalPending), ask(core.ApprovalDenied)
	mustWrite(t, l, core.Change{Approvals: []*core.Approval{pending, decided}})
	mv := core.Move{From: "c", To: "d", Session: "s", Keeps: true, At: day}
	for range 2 {
		mustWrite(t, l, core.Change{Move: &mv})
		must(t, l.Close())
		l = openAt(t, path)
		open, _, err := l.Open(t.Context())
		must(t, err)
		var waits []core.MessageID
		for i := range open {
			if m := &open[i]; m.State == core.Waiting {
				waits = append(waits, m.ID)
				if m.Channel != "d" {
					t.Errorf("a message waits on %q", m.Channel)
				}
			}
		}
		if want := []core.MessageID{one.ID, two.ID, there.ID}; !reflect.DeepEqual(waits, want) {
			t.Errorf("what waits is %v, want %v", waits, want)
		}
		if m, err := l.Message(t.Context(), old.ID); err != nil || m.Channel != "c" {
			t.Errorf("a message that runs is on %q, %v", m.Channel, err)
		}
		mine.Channel = "d"
		all, err := l.Settings(t.Context())
		must(t, err)
		want := map[core.ChannelKey]core.Settings{"d": {Model: "opus", PermissionMode: "plan", Rules: []core.Rule{mine, theirs}}}
		if !reflect.DeepEqual(all, want) {
			t.Errorf("settings are %+v\nwant %+v", all, want)
		}
		for id, key := range map[string]core.ChannelKey{pending.ID: "d", decided.ID: "c"} {
			if a, err := l.Approval(t.Context(), id); err != nil || a.Channel != key {
				t.Errorf("approval is on %q (%v), want %q", a.Channel, err, key)
			}
		}
		if got, err := l.Moves(t.Context()); err != nil || !reflect.DeepEqual(got, []core.Move{mv}) {
			t.Errorf("moves are %+v, %v", got, err)
		}
	}
}
