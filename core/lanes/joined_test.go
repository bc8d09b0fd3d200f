package lanes

import (
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// joined has two messages be steered while a turn runs, which claude then runs as
// one turn under the uuid of the last; see PROTOCOL of the agent.
func (w *world) joined() (first, second *core.Ticket, h *fakeHost, a, b core.TurnID) {
	w.t.Helper()
	before, h, id := w.begun("zero")
	first = w.submit("one", mode(core.Steer))
	_, a = w.running()
	second = w.submit("two", mode(core.Steer))
	_, b = w.running()
	h.finish(id, "0")
	w.wants(before, core.Answered, "", "0")
	h.begin(a)
	h.begin(b)
	w.agent.fate(a, func(f *core.Fate) { f.Into = b })
	synctest.Wait()
	return first, second, h, a, b
}

// The agent is killed after an event showed a tool of a turn that two messages were
// joined in, and before its record did: neither of them runs again.
func TestJoinedToolTurnNeverRunsAgain(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		first, second, h, a, b := w.joined()
		h.say(core.Event{Kind: core.ToolBegun, Tool: "Bash", Target: "make"})
		synctest.Wait()
		h.die()
		w.wants(first, core.Failed, core.CodeInterrupted, "")
		w.wants(second, core.Failed, core.CodeInterrupted, "")
		if w.agent.runs[a] != 1 || w.agent.runs[b] != 1 {
			t.Errorf("runs are %v", w.agent.runs)
		}
		w.works()
	})
}

// The answer that is found on record for joined messages is told once, as it is
// when its result comes.
func TestJoinedAnswerOnRecordIsToldOnce(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		first, second, h, a, b := w.joined()
		for _, id := range []core.TurnID{a, b} {
			w.agent.fate(id, func(f *core.Fate) { f.Answered, f.Text = true, "both" })
		}
		h.die()
		one, two := w.outcome(first).Reply, w.outcome(second).Reply
		if one.State != core.Answered || two.State != core.Answered || (one.Text == "both") == (two.Text == "both") || one.Coalesced == two.Coalesced {
			t.Errorf("told %+v and %+v", one, two)
		}
		w.works()
	})
}

// Messages of an earlier process that were joined meet a usage limit after a tool
// has begun: none of them is put back.
func TestJoinedToolTurnIsNotPutBack(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		s := w.submit("two", mode(core.Steer))
		_, steered := w.running()
		w.crash()
		w.agent.mu.Lock()
		h.endLocked()
		w.agent.mu.Unlock()
		w.start()
		h, _ = w.running()
		if n := len(h.handed()); n != 2 {
			t.Fatalf("%d turns run again, want 2", n)
		}
		h.begin(id)
		h.begin(steered)
		h.say(core.Event{Kind: core.ToolBegun, Tool: "Bash", Target: "make"})
		h.results(core.Result{Turns: []core.TurnID{id, steered}, IsError: true, Code: core.CodeUsageLimit, Error: "limit", SessionID: h.launch.SessionID})
		h.done(id, steered)
		w.wantsNow(m.Message.ID, core.Failed, core.CodeUsageLimit, "limit")
		w.wantsNow(s.Message.ID, core.Failed, core.CodeUsageLimit, "")
		w.after(limitPause + time.Second)
	})
}

// Who learns that another message was answered with the text finds it there at once.
func TestCarrierIsThereFirst(t *testing.T) {
	t.Parallel()
	for range 2000 {
		d := newTicketIndex()
		carried, carrier := core.Message{ID: "1"}, core.Message{ID: "2"}
		carried.Reply.Into = carrier.ID
		d.add(core.NewTicket(carried))
		d.add(core.NewTicket(carrier))
		first, _ := d.find(carried.ID)
		second, _ := d.find(carrier.ID)
		there := make(chan bool)
		go func() {
			<-first.Done()
			there <- isClosed(second.Done())
		}()
		d.resolve([]*core.Message{&carried, &carrier})
		if !<-there {
			t.Fatal("the text is not there yet")
		}
	}
}
