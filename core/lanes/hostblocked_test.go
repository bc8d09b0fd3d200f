package lanes

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
)

// A host that cannot keep what the agent says gets an acknowledgement at once; the channel is told, the turn does not count as stuck, and it is
// over with the next event.
func TestHostWithoutRoom(t *testing.T) {
	const why = "no space is left on the disk of /state/hosts; free some there"
	play(t, Options{StallAfter: stallAfter, StallAction: StallKill}, func(t *testing.T, w *world) {
		updates := w.watching("c")
		m, h, id := w.begun("one")
		h.say(core.Event{Kind: core.Said, Type: "status"})
		unkept := func() int {
			w.status() // all is taken up
			h.a.mu.Lock()
			defer h.a.mu.Unlock()
			return len(h.log)
		}
		if unkept() == 0 {
			t.Fatal("all is acknowledged already: the test shows nothing")
		}
		h.say(core.Event{Kind: core.LogFull})
		if n := unkept(); n > 1 { // itself, which is no entry of a real host
			t.Errorf("%d events are not acknowledged", n)
		}
		if st := w.status(); st.HostBlocked != "" {
			t.Errorf("the status says %q of a host that only wants an acknowledgement", st.HostBlocked)
		}
		h.say(core.Event{Kind: core.LogFull, Detail: why})
		if st := w.status(); !strings.Contains(st.HostBlocked, why) || st.Why != st.HostBlocked || st.State != core.StateRunning {
			t.Errorf("the status is %+v", st)
		}
		w.after(3 * stallAfter)
		if us := updates.told(core.UpdateStalled); len(us) != 1 || us[0].Turn != id || !strings.Contains(us[0].Detail, why) {
			t.Errorf("the channel was told %+v", us)
		}
		h.say(core.Event{Kind: core.Said, Type: "status"})
		if st := w.status(); st.HostBlocked != "" || st.Why != "" {
			t.Errorf("the status still is %+v", st)
		}
		h.finish(id, "done")
		w.wants(m, core.Answered, "", "done")
		w.after(time.Minute)
	})
}

// The end of a folded turn is acknowledged where there is no room for the result that
// names it, and that of a turn without a result is not: a new process needs it.
func TestHostWithoutRoomForAFoldedTurn(t *testing.T) {
	t.Parallel()
	for name, folded := range map[string]bool{"folded": true, "no result": false} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				_, h, id := w.begun("one")
				first := id
				if folded {
					w.submit("two", mode(core.Steer))
					id = h.handed()[1]
				}
				w.ledger.setDown(core.ErrStorageFull)
				w.agent.lax = true // the end of the folded turn has no effect of its own
				h.done(id)
				h.say(core.Event{Kind: core.LogFull})
				w.status()
				h.a.mu.Lock()
				kept := slices.ContainsFunc(h.log, func(ev core.Event) bool { return ev.Phase == core.PhaseCompleted })
				h.a.mu.Unlock()
				if kept == folded {
					t.Errorf("the end of the turn is kept: %v", kept)
				}
				w.ledger.setDown(nil)
				if folded {
					h.result("both", first, id)
					h.done(first)
				}
				w.after(time.Minute)
			})
		})
	}
}

// Whoever interrupts a turn while the ledger takes nothing hears that it has ended, and
// its sender is told when that is written.
func TestInterruptIsUnwritten(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(w *world){
		"first":                func(*world) {},
		"after another change": func(w *world) { w.submit("two", mode(core.Steer)) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, _, _ := w.begun("one")
				prepare(w)
				w.ledger.setDown(core.ErrStorageFull)
				i := w.interrupting("")
				w.after(2 * time.Second)
				if !i.over || !errors.Is(i.err, core.ErrUnwritten) || !errors.Is(i.err, core.ErrStorageFull) {
					t.Fatalf("after two seconds the interrupt is over: %v, with %v", i.over, i.err)
				}
				w.undecided(m)
				w.ledger.setDown(nil)
				w.after(2 * saveRetry)
				w.wants(m, core.Cancelled, core.CodeInterrupted, "")
				w.after(time.Minute)
			})
		})
	}
}
