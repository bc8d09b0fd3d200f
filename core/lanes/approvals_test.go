package lanes

import (
	"slices"
	"strings"
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

func TestPermissionIsDeniedWhereNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	for policy, ask := range map[ApprovalPolicy]bool{ApprovalsByAdapter: false, ApprovalsDeny: true} {
		playNow(t, Options{Approvals: policy}, func(t *testing.T, w *world) {
			_, h, _ := w.begun("one", func(s *core.Submission) { s.CanAsk = ask })
			h.ask("r1", "Bash")
			synctest.Wait()
			answer, ok := h.answered("r1")
			if !ok || answer.Allow || !strings.Contains(answer.Message, "or ask people.") {
				t.Errorf("policy %q: answered with %+v", policy, answer)
			}
			w.pending(0)
		})
	}
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

func TestPermissionIsDeniedOrRemembered(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, _ := w.begun("one", askable)
		for request, c := range map[string]struct {
			d    core.Decision
			want core.Answer
		}{
			"r1": {core.Decision{}, core.Answer{Message: "The user denied permission for Bash."}},
			"r2": {core.Decision{Message: "rather not", Remember: true}, core.Answer{Message: "rather not"}},
			"r3": {core.Decision{Allow: true, Remember: true}, core.Answer{Allow: true, Rules: jsonRaw(`[{"type":"addRules"}]`)}},
		} {
			h.ask(request, "Bash")
			a := w.pending(1)[0]
			if _, err := w.m.Decider.Decide(t.Context(), a.ID, c.d); err != nil {
				t.Fatal(err)
			}
			if got, _ := h.answered(request); got.Allow != c.want.Allow || got.Message != c.want.Message || string(got.Rules) != string(c.want.Rules) {
				t.Errorf("answered with %+v, want %+v", got, c.want)
			}
		}
	})
}

func TestPermissionExpires(t *testing.T) {
	play(t, Options{ApprovalTimeout: time.Minute}, func(t *testing.T, w *world) {
		_, h, _ := w.begun("one", askable)
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		w.after(time.Minute)
		w.pending(0)
		w.approval(a.ID, core.ApprovalExpired)
		if answer, ok := h.answered("r1"); !ok || answer.Allow || !strings.Contains(answer.Message, "within 1m0s") {
			t.Errorf("answered with %+v", answer)
		}
		_, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true})
		w.wantErr(err, core.ErrNotPending)
	})
}

// A decision that cannot be written is not told to the agent, and does not keep
// the request from expiring.
func TestPermissionExpiresAfterFailedDecision(t *testing.T) {
	play(t, Options{ApprovalTimeout: time.Minute}, func(t *testing.T, w *world) {
		_, h, _ := w.begun("one", askable)
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		w.after(time.Minute - time.Millisecond)
		w.ledger.fail(core.ErrStorage, 1, func(c core.Change) bool { return len(c.Approvals) > 0 })
		w.ledger.slow(time.Second) // the decision is under way when its time comes
		_, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true})
		w.wantErr(err, core.ErrStorage)
		w.after(10 * time.Second)
		w.approval(a.ID, core.ApprovalExpired)
		if answer, ok := h.answered("r1"); !ok || answer.Allow {
			t.Errorf("answered with %+v", answer)
		}
	})
}

// What can no longer be answered is void.
func TestPermissionIsVoid(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, h *fakeHost, id core.TurnID){
		"turn ended": func(w *world, h *fakeHost, id core.TurnID) { h.result("ok", id) },
		"withdrawn": func(w *world, h *fakeHost, id core.TurnID) {
			h.say(core.Event{Kind: core.RequestGone, Request: &core.Request{ID: "r1"}})
		},
		"agent ended":  func(w *world, h *fakeHost, id core.TurnID) { h.exit(core.Exit{Text: "gone"}) },
		"host is lost": func(w *world, h *fakeHost, id core.TurnID) { h.die() },
		"lost while the gateway is away": func(w *world, h *fakeHost, id core.TurnID) {
			w.crash()
			h.die()
			w.start()
		},
		"withdrawn while the gateway is away": func(w *world, h *fakeHost, id core.TurnID) {
			w.crash()
			w.agent.mu.Lock()
			h.requests = nil
			h.sayLocked(core.Event{Kind: core.RequestGone, Request: &core.Request{ID: "r1"}})
			w.agent.mu.Unlock()
			w.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{ApprovalTimeout: time.Minute}, func(t *testing.T, w *world) {
				_, h, id := w.begun("one", askable)
				h.ask("r1", "Bash")
				a := w.pending(1)[0]
				end(w, h, id)
				synctest.Wait()
				w.pending(0)
				w.approval(a.ID, core.ApprovalVoid)
				_, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true})
				w.wantErr(err, core.ErrNotPending)
				w.after(time.Hour)
				w.approval(a.ID, core.ApprovalVoid)
			})
		})
	}
}

// A request outlives the gateway: the next one asks on, for as long as was left.
func TestPermissionIsRestored(t *testing.T) {
	play(t, Options{ApprovalTimeout: time.Minute}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one", askable)
		h.ask("r1", "Bash")
		h.ask("r2", "Write")
		a := w.pending(2)[0]
		w.crash()
		w.after(50 * time.Second)
		h.ask("r3", "Edit") // while nobody listened
		w.start()
		all := w.pending(3)
		if all[0].ID != a.ID {
			t.Errorf("the first approval was asked anew: %+v", all)
		}
		if _, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true}); err != nil {
			t.Error(err)
		}
		if answer, _ := h.answered("r1"); !answer.Allow {
			t.Errorf("answered with %+v", answer)
		}
		w.after(10 * time.Second)
		w.approval(all[1].ID, core.ApprovalExpired)
		w.after(50 * time.Second)
		w.approval(all[2].ID, core.ApprovalExpired)
		h.finish(id, "ok")
		w.wantsNow(m.Message.ID, core.Answered, "", "ok")
		w.pending(0)
	})
}

// A decision that comes while the host is still looked for is not lost.
func TestDecisionWhileAttaching(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, _ := w.begun("one", askable)
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		w.crash()
		unblock := w.agent.block("attach")
		w.start()
		decided := make(chan error, 1)
		go func() {
			_, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true})
			decided <- err
		}()
		synctest.Wait()
		unblock()
		if err := <-decided; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if answer, _ := h.answered("r1"); !answer.Allow {
			t.Errorf("answered with %+v", answer)
		}
	})
}
