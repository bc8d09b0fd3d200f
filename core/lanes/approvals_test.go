package lanes

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// pending returns the approvals that wait for a decision.
func (w *world) pending(n int) []core.Approval {
	w.t.Helper()
	synctest.Wait()
	as, err := w.m.Decider.Approvals(w.t.Context())
	if err != nil || len(as) != n {
		w.t.Fatalf("%d approvals wait, want %d: %+v, %v", len(as), n, as, err)
	}
	return as
}

func (w *world) approval(id string, state core.ApprovalState) core.Approval {
	w.t.Helper()
	synctest.Wait()
	a, err := w.ledger.Approval(w.t.Context(), id)
	if err != nil || a.State != state {
		w.t.Errorf("approval is %s (%v), want %s", a.State, err, state)
	}
	return a
}

func TestPermissionIsAsked(t *testing.T) {
	t.Parallel()
	for policy, ask := range map[ApprovalPolicy]bool{ApprovalsByAdapter: true, ApprovalsAsk: false} {
		playNow(t, Options{Approvals: policy}, func(t *testing.T, w *world) {
			sub := w.m.Feeds.Subscribe("c")
			defer sub.Close()
			m, h, id := w.begun("one", func(s *core.Submission) { s.CanAsk = ask })
			h.ask("r1", "Bash")
			a := w.pending(1)[0]
			if a.Turn != id || a.Message != m.Message.ID || a.Tool != "Bash" || a.ExpiresAt.Sub(a.CreatedAt) != 10*time.Minute {
				t.Errorf("approval is %+v", a)
			}
			got, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true, UpdatedInput: jsonRaw(`{"command":"ls -l"}`)})
			if err != nil || got.State != core.ApprovalAllowed {
				t.Errorf("decided: %+v, %v", got, err)
			}
			if answer, _ := h.answered("r1"); !answer.Allow || string(answer.UpdatedInput) != `{"command":"ls -l"}` || answer.Rules != nil {
				t.Errorf("answered with %+v", answer)
			}
			for _, d := range []core.Decision{{Allow: true}, {}} { // twice
				got, err = w.m.Decider.Decide(t.Context(), a.ID, d)
				w.wantErr(err, core.ErrNotPending)
				if got.State != core.ApprovalAllowed {
					t.Errorf("refused with %+v", got)
				}
			}
			_, err = w.m.Decider.Decide(t.Context(), "unknown", core.Decision{})
			w.wantErr(err, core.ErrNotFound)
			var kinds []core.UpdateKind
			for u, ok := sub.Next(); ok; u, ok = sub.Next() {
				if u.Approval != nil {
					kinds = append(kinds, u.Kind)
				}
			}
			if want := []core.UpdateKind{core.UpdateApproval, core.UpdateApprovalClosed}; !slices.Equal(kinds, want) {
				t.Errorf("updates = %v, want %v", kinds, want)
			}
			h.result("ok", id)
			w.wants(m, core.Answered, "", "ok")
			w.approval(a.ID, core.ApprovalAllowed)
		})
	}
}

func TestPermission(t *testing.T) {
	scenarios(t, map[string]string{
		"nobody can be asked": `
			with approvals={|deny}; send one {by=a|ask}; begin one; ask r1; reply r1 deny "or ask people."
			pending`,
		"denied or remembered": `
			send one ask; begin one; ask r1; decide r1 deny
			reply r1 deny "The user denied permission for Bash."
			ask r2; decide r2 deny remember message="rather not"; reply r2 deny "rather not"; ask r3
			decide r3 allow remember; reply r3 allow addRules`,
		"expired": `
			with approvaltime=1m; send one ask; begin one; ask r1; pending r1; wait 1m; pending
			approval r1 expired; reply r1 deny "within 1m0s"
			decide r1 allow err=not_pending`,
		"a decision that cannot be written does not keep a request from expiring": `
			with approvaltime=1m; send one ask; begin one; ask r1; pending r1; wait 59999ms
			refuse approval storage; slow 1s; decide r1 allow err=storage
			wait 10s; over; approval r1 expired; reply r1 deny`,
		"void": `
			with approvaltime=1m; send one ask; begin one; ask r1; pending r1
			{result one ok|withdraw r1|exit gone|die|crash; die; start|crash; withdraw r1; start}
			pending; approval r1 void; decide r1 allow err=not_pending; wait 1h; approval r1 void`,
		"a new process asks on, for as long as was left": `
			with approvaltime=1m; send one ask; begin one; ask r1; ask r2 Write; pending r1 r2; crash; wait 50s
			ask r3 Edit; start; pending r1 r2 r3
			decide r1 allow; reply r1 allow; wait 10s; approval r2 expired; wait 50s; approval r3 expired
			finish one ok; one answered ok; pending`,
		"decided while the host is looked for": `
			send one ask; begin one; ask r1; pending r1; crash; block attach; start; decide r1 allow; busy
			unblock attach; over; reply r1 allow`,
		"a rule is there after a crash if, and only if, the decision is": `
			with approvals=ask; send one; begin one; ask r1; pending r1; hold
			decide r1 allow always {err=closed|by=ann}; step {0|1}; crash; start
			approval r1 {pending|allowed}; rules {0|1}`,
	})
}

// Whoever delivers to a channel is told of each approval, and of its end whatever ends it.
func TestApprovalsAreDelivered(t *testing.T) {
	scenarios(t, map[string]string{
		"a permission": `
			with deliver=c:chat; send one ask; begin one; ask r1; deliver chat approval:r1
			{decide r1 allow by=Ann|wait 11m|exit gone|crash; start; deliver chat approval:r1; decide r1 deny}
			approval r1 {allowed|expired|void|denied} by={Ann|||}; deliver chat approval:r1 approval_closed:r1`,
		"on another channel": `
			with deliver=tg-:chat; send one ask; begin one; ask r1; pending r1; deliver chat`,
		"a turn that was cut": `
			with deliver=c:chat; send one ask; begin one; tool one; die; pending continue
			deliver chat approval:continue
			decide continue {allow|deny} by=Ann; approval continue {allowed|denied} by=Ann
			deliver chat approval:continue approval_closed:continue`,
	})
}
