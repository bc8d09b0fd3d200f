package lanes

import (
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// about lists what is on record to be delivered about approvals, in order.
func (w *world) about() []string {
	w.t.Helper()
	synctest.Wait()
	all, err := w.m.Adapters.PendingDeliveries(w.t.Context(), "chat")
	if err != nil {
		w.t.Fatal(err)
	}
	var ids []string
	for _, d := range all {
		if d.Kind == core.DeliverApproval || d.Kind == core.DeliverApprovalClosed {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func (w *world) wantAbout(want ...string) {
	w.t.Helper()
	got := w.about()
	if len(got) != len(want) {
		w.t.Fatalf("on record: %q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			w.t.Errorf("on record: %q, want %q", got, want)
		}
	}
}

// Whoever delivers to a channel is told of each approval, and of its end whatever
// ends it; across a crash as well.
func TestApprovalsAreDelivered(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		do    func(w *world, h *fakeHost, a core.Approval)
		state core.ApprovalState
	}{
		"decided": {func(w *world, _ *fakeHost, a core.Approval) {
			if got, err := w.m.Decider.Decide(w.t.Context(), a.ID, core.Decision{Allow: true, By: "Ann"}); err != nil || got.DecidedBy != "Ann" {
				w.t.Errorf("decided: %+v, %v", got, err)
			}
		}, core.ApprovalAllowed},
		"expired":   {func(w *world, _ *fakeHost, _ core.Approval) { w.after(11 * time.Minute) }, core.ApprovalExpired},
		"withdrawn": {func(w *world, h *fakeHost, _ core.Approval) { h.exit(core.Exit{}) }, core.ApprovalVoid},
		"after a crash": {func(w *world, _ *fakeHost, a core.Approval) {
			w.crash()
			w.start()
			w.wantAbout(core.ApprovalDelivery(a.ID))
			if _, err := w.m.Decider.Decide(w.t.Context(), a.ID, core.Decision{}); err != nil {
				w.t.Error(err)
			}
		}, core.ApprovalDenied},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{Deliverers: map[string]string{"c": "chat"}}, func(t *testing.T, w *world) {
				_, h, _ := w.begun("one", askable)
				h.ask("r1", "Bash")
				a := w.pending(1)[0]
				w.wantAbout(core.ApprovalDelivery(a.ID))
				end.do(w, h, a)
				w.approval(a.ID, end.state)
				w.wantAbout(core.ApprovalDelivery(a.ID), "approval_closed:"+a.ID)
			})
		})
	}
}

func TestApprovalsOfOtherChannelsAreNotDelivered(t *testing.T) {
	play(t, Options{Deliverers: map[string]string{"tg-": "chat"}}, func(t *testing.T, w *world) {
		_, h, _ := w.begun("one", askable)
		h.ask("r1", "Bash")
		w.pending(1)
		w.wantAbout()
	})
}

// A turn that was cut makes a question, and what is decided of it is delivered too.
func TestContinueIsDelivered(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]core.Decision{"on": {Allow: true, By: "Ann"}, "dropped": {By: "Ann"}} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{Deliverers: map[string]string{"c": "chat"}}, func(t *testing.T, w *world) {
				_, h, id := w.begun("one", askable)
				h.tool(id)
				synctest.Wait()
				h.die()
				a := w.pending(1)[0]
				w.wantAbout(core.ApprovalDelivery(a.ID))
				got, err := w.m.Decider.Decide(t.Context(), a.ID, d)
				if err != nil || got.DecidedBy != "Ann" {
					t.Errorf("decided: %+v, %v", got, err)
				}
				w.wantAbout(core.ApprovalDelivery(a.ID), "approval_closed:"+a.ID)
			})
		})
	}
}

// A delivery that was made is not handed over again when it is asked for once more.
func TestDeliverOnce(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		var got []string
		w.m.Adapters.OnDelivery("chat", func(d core.Delivery) { got = append(got, d.ID) })
		d := core.Delivery{ID: "note", Kind: "note", Adapter: "chat", Channel: "c"}
		deliver := func() {
			again := d
			if err := w.m.Adapters.Deliver(t.Context(), &again); err != nil {
				t.Fatal(err)
			}
		}
		deliver()
		deliver() // it is pending: perhaps nobody was there
		d.State = core.DeliverySent
		if err := w.m.Adapters.Delivered(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		deliver()
		if len(got) != 2 {
			t.Errorf("handed over %d times, want 2", len(got))
		}
	})
}
