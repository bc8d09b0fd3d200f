package lanes

import (
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// Closing a channel in each phase cancels what is open, forgets the session and
// leaves a channel that works.
func TestResetInEachPhase(t *testing.T) {
	t.Parallel()
	for name, phase := range map[string]func(w *world) (goOn func()){
		"idle":     func(w *world) func() { w.works(); return func() {} },
		"running":  func(w *world) func() { w.begun("one"); w.submit("two"); return func() {} },
		"deaf":     func(w *world) func() { _, h, _ := w.begun("one"); h.deafen(); return h.die },
		"starting": func(w *world) func() { unblock := w.agent.block("start"); w.submit("one"); return unblock },
		"recovering": func(w *world) func() {
			_, h, _ := w.begun("one")
			unblock := w.agent.block("fate")
			h.die()
			return unblock
		},
		"interrupted":            func(w *world) func() { w.begun("one"); w.interrupting(""); return func() {} },
		"folded, not named":      func(w *world) func() { _, h, id := w.begun("one"); w.submit("two"); h.done(id); return func() {} },
		"freezing":               func(w *world) func() { w.works(); w.ledger.hold(); w.submitting("one"); return w.ledger.release },
		"session id being saved": func(w *world) func() { w.newID(); return func() {} },
		"ledger down": func(w *world) func() {
			_, h, id := w.begun("one")
			w.submit("two")
			w.ledger.setDown(core.ErrStorage)
			h.answer(id, "ok")
			synctest.Wait()
			return func() { w.ledger.setDown(nil) }
		},
		"attaching": func(w *world) func() {
			w.begun("one")
			w.m.Detach()
			unblock := w.agent.block("attach")
			w.start()
			return unblock
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				goOn := phase(w)
				closed := make(chan error, 1)
				go func() { closed <- w.m.Reset(t.Context(), "c") }()
				synctest.Wait()
				goOn()
				if err := <-closed; err != nil {
					t.Fatal(err)
				}
				w.after(time.Minute)
				if ids := w.sessions.All(); len(ids) != 0 {
					t.Errorf("session ids are left: %v", ids)
				}
				if len(w.agent.hosts) != 0 {
					t.Error("the process is left")
				}
				if b, err := w.m.Lookup.Balance(t.Context()); err != nil || b.Waiting != 0 {
					t.Errorf("balance %+v, %v", b, err)
				}
				if h := w.works(); h.launch.Resume {
					t.Error("the old conversation was resumed")
				}
			})
		})
	}
}

// newID has the conversation go on under a new id, which takes time to be saved.
func (w *world) newID() {
	_, h, id := w.begun("/clear")
	h.finish(id, "ok")
	w.sessions.pause = []time.Duration{time.Second}
	h.say(core.Event{Kind: core.SessionNew, SessionID: "00000000-0000-4000-8000-000000000002"})
	synctest.Wait()
}

func TestResetOfUnknownChannel(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.wantErr(w.m.Reset(t.Context(), "c"), core.ErrNotFound)
	})
}
