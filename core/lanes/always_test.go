package lanes

import (
	"encoding/json"
	"testing"
	"time"

	"bareclaw/core"
)

// To allow for ever writes the rule with the decision, tells the process, and keeps it:
// it knows the rule. The next one is started with it.
func TestAllowAlways(t *testing.T) {
	play(t, Options{Approvals: ApprovalsAsk}, func(t *testing.T, w *world) {
		var seen []core.Change
		w.ledger.watch = func(c core.Change) {
			if len(c.Settings) > 0 {
				seen = append(seen, c)
			}
		}
		m, h, id := w.begun("one")
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		if _, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true, Always: true, By: "ann"}); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 1 || len(seen[0].Approvals) != 1 || seen[0].Approvals[0].State != core.ApprovalAllowed {
			t.Errorf("changes with rules: %+v", seen)
		}
		var told []map[string]any
		answer, _ := h.answered("r1")
		if err := json.Unmarshal(answer.Rules, &told); err != nil || len(told) != 1 || told[0]["destination"] != "session" || !answer.Allow {
			t.Errorf("the process was told %s (%v)", answer.Rules, err)
		}
		rs := w.m.ChannelSettings.Settings("c").Rules
		if len(rs) != 1 || rs[0].Rule != "Bash(ls)" || rs[0].By != "ann" || rs[0].Tool != "Bash" {
			t.Fatalf("rules are %+v", rs)
		}
		h.finish(id, "done")
		w.wants(m, core.Answered, "", "done")
		w.after(time.Minute)
		if w.served("c") != h {
			t.Fatal("a process that knows the rule was replaced")
		}
		if err := w.m.ChannelSettings.RemoveRule(t.Context(), "c", rs[0].ID); err != nil {
			t.Fatal(err)
		}
		w.after(2 * time.Second)
		if next := w.served("c"); next == h || len(next.launch.Settings.Rules) != 0 {
			t.Errorf("after the rule was taken back %+v serves", next.launch)
		}
	})
}
