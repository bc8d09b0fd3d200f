package core

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pending returns the approvals that wait for a decision.
func (w *world) pending(n int) []Approval {
	w.t.Helper()
	synctest.Wait()
	as, err := w.m.Approvals(w.t.Context())
	if err != nil || len(as) != n {
		w.t.Fatalf("%d approvals wait, want %d: %+v, %v", len(as), n, as, err)
	}
	return as
}

func (w *world) approval(id string, state ApprovalState) Approval {
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
		play(t, Options{Approvals: policy}, func(t *testing.T, w *world) {
			_, h, _ := w.begun("one", func(s *Submission) { s.CanAsk = ask })
			h.ask("r1", "Bash")
			synctest.Wait()
			answer, ok := h.answered("r1")
			if !ok || answer.Allow || !strings.Contains(answer.Message, "BARECLAW_APPROVALS=ask") {
				t.Errorf("policy %q: answered with %+v", policy, answer)
			}
			w.pending(0)
		})
	}
}

func TestPermissionIsAsked(t *testing.T) {
	t.Parallel()
	for policy, ask := range map[ApprovalPolicy]bool{ApprovalsByAdapter: true, ApprovalsAsk: false} {
		play(t, Options{Approvals: policy}, func(t *testing.T, w *world) {
			sub := w.m.Subscribe("c")
			defer sub.Close()
			m, h, id := w.begun("one", func(s *Submission) { s.CanAsk = ask })
			h.ask("r1", "Bash")
			a := w.pending(1)[0]
			if a.Turn != id || a.Message != m.Message.ID || a.Tool != "Bash" || a.ExpiresAt.Sub(a.CreatedAt) != 10*time.Minute {
				t.Errorf("approval is %+v", a)
			}
			got, err := w.m.Decide(t.Context(), a.ID, Decision{Allow: true, UpdatedInput: jsonRaw(`{"command":"ls -l"}`)})
			if err != nil || got.State != ApprovalAllowed {
				t.Errorf("decided: %+v, %v", got, err)
			}
			if answer, _ := h.answered("r1"); !answer.Allow || string(answer.UpdatedInput) != `{"command":"ls -l"}` || answer.Rules != nil {
				t.Errorf("answered with %+v", answer)
			}
			for _, d := range []Decision{{Allow: true}, {}} { // twice
				got, err = w.m.Decide(t.Context(), a.ID, d)
				w.wantErr(err, ErrNotPending)
				if got.State != ApprovalAllowed {
					t.Errorf("refused with %+v", got)
				}
			}
			_, err = w.m.Decide(t.Context(), "unknown", Decision{})
			w.wantErr(err, ErrNotFound)
			var kinds []UpdateKind
			for u, ok := sub.Next(); ok; u, ok = sub.Next() {
				if u.Approval != nil {
					kinds = append(kinds, u.Kind)
				}
			}
			if want := []UpdateKind{UpdateApproval, UpdateApprovalClosed}; !slices.Equal(kinds, want) {
				t.Errorf("updates = %v, want %v", kinds, want)
			}
			h.result("ok", id)
			w.wants(m, Answered, "", "ok")
			w.approval(a.ID, ApprovalAllowed)
		})
	}
}

func TestPermissionIsDeniedOrRemembered(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, _ := w.begun("one", askable)
		for request, c := range map[string]struct {
			d    Decision
			want Answer
		}{
			"r1": {Decision{}, Answer{Message: "The user denied permission for Bash."}},
			"r2": {Decision{Message: "rather not", Remember: true}, Answer{Message: "rather not"}},
			"r3": {Decision{Allow: true, Remember: true}, Answer{Allow: true, Rules: jsonRaw(`[{"type":"addRules"}]`)}},
		} {
			h.ask(request, "Bash")
			a := w.pending(1)[0]
			if _, err := w.m.Decide(t.Context(), a.ID, c.d); err != nil {
				t.Fatal(err)
			}
			if got, _ := h.answered(request); got.Allow != c.want.Allow || got.Message != c.want.Message || string(got.Rules) != string(c.want.Rules) {
				t.Errorf("answered with %+v, want %+v", got, c.want)
			}
		}
	})
}

func TestPermissionExpires(t *testing.T) {
	t.Parallel()
	play(t, Options{ApprovalTimeout: time.Minute}, func(t *testing.T, w *world) {
		_, h, _ := w.begun("one", askable)
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		w.after(time.Minute)
		w.pending(0)
		w.approval(a.ID, ApprovalExpired)
		if answer, ok := h.answered("r1"); !ok || answer.Allow || !strings.Contains(answer.Message, "within 1m0s") {
			t.Errorf("answered with %+v", answer)
		}
		_, err := w.m.Decide(t.Context(), a.ID, Decision{Allow: true})
		w.wantErr(err, ErrNotPending)
	})
}

// A decision that cannot be written is not told to the agent, and does not keep
// the request from expiring.
func TestPermissionExpiresAfterFailedDecision(t *testing.T) {
	t.Parallel()
	play(t, Options{ApprovalTimeout: time.Minute}, func(t *testing.T, w *world) {
		_, h, _ := w.begun("one", askable)
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		w.after(time.Minute - time.Millisecond)
		w.ledger.fail(ErrStorage, 1, func(c Change) bool { return len(c.Approvals) > 0 })
		w.ledger.slow(time.Second) // the decision is under way when its time comes
		_, err := w.m.Decide(t.Context(), a.ID, Decision{Allow: true})
		w.wantErr(err, ErrStorage)
		w.after(10 * time.Second)
		w.approval(a.ID, ApprovalExpired)
		if answer, ok := h.answered("r1"); !ok || answer.Allow {
			t.Errorf("answered with %+v", answer)
		}
	})
}

// What can no longer be answered is void.
func TestPermissionIsVoid(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, h *fakeHost, id TurnID){
		"turn ended":   func(w *world, h *fakeHost, id TurnID) { h.result("ok", id) },
		"withdrawn":    func(w *world, h *fakeHost, id TurnID) { h.say(Event{Kind: RequestGone, Request: &Request{ID: "r1"}}) },
		"agent ended":  func(w *world, h *fakeHost, id TurnID) { h.exit(Exit{Text: "gone"}) },
		"host is lost": func(w *world, h *fakeHost, id TurnID) { h.die() },
		"lost while the gateway is away": func(w *world, h *fakeHost, id TurnID) {
			w.crash()
			h.die()
			w.start()
		},
		"withdrawn while the gateway is away": func(w *world, h *fakeHost, id TurnID) {
			w.crash()
			w.agent.mu.Lock()
			h.requests = nil
			h.sayLocked(Event{Kind: RequestGone, Request: &Request{ID: "r1"}})
			w.agent.mu.Unlock()
			w.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, Options{ApprovalTimeout: time.Minute}, func(t *testing.T, w *world) {
				_, h, id := w.begun("one", askable)
				h.ask("r1", "Bash")
				a := w.pending(1)[0]
				end(w, h, id)
				synctest.Wait()
				w.pending(0)
				w.approval(a.ID, ApprovalVoid)
				_, err := w.m.Decide(t.Context(), a.ID, Decision{Allow: true})
				w.wantErr(err, ErrNotPending)
				w.after(time.Hour)
				w.approval(a.ID, ApprovalVoid)
			})
		})
	}
}

// A request outlives the gateway: the next one asks on, for as long as was left.
func TestPermissionIsRestored(t *testing.T) {
	t.Parallel()
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
		if _, err := w.m.Decide(t.Context(), a.ID, Decision{Allow: true}); err != nil {
			t.Error(err)
		}
		if answer, _ := h.answered("r1"); !answer.Allow {
			t.Errorf("answered with %+v", answer)
		}
		w.after(10 * time.Second)
		w.approval(all[1].ID, ApprovalExpired)
		w.after(50 * time.Second)
		w.approval(all[2].ID, ApprovalExpired)
		h.result("ok", id)
		h.done(id)
		w.wantsNow(m.Message.ID, Answered, "", "ok")
		w.pending(0)
	})
}

// A decision that comes while the host is still looked for is not lost.
func TestDecisionWhileAttaching(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, _ := w.begun("one", askable)
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		w.crash()
		unblock := w.agent.block("attach")
		w.start()
		decided := make(chan error, 1)
		go func() {
			_, err := w.m.Decide(t.Context(), a.ID, Decision{Allow: true})
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
