package lanes

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// A watcher collects what the subscribers of a channel are told.
type watcher struct {
	s *feed.Subscription
}

func (w *world) watching(key core.ChannelKey) *watcher {
	s := w.m.Feeds.Subscribe(key)
	w.t.Cleanup(s.Close)
	return &watcher{s}
}

// told returns the updates of a kind since the last time, and forgets the others.
func (w *watcher) told(kind core.UpdateKind) []core.Update {
	synctest.Wait()
	var us []core.Update
	for u, ok := w.s.Next(); ok; u, ok = w.s.Next() {
		if u.Kind == kind {
			us = append(us, u)
		}
	}
	return us
}

func (w *world) marked(id core.MessageID, what string) bool {
	w.t.Helper()
	trace, err := w.m.Lookup.Trace(w.t.Context(), id)
	if err != nil || trace.Turn == nil {
		w.t.Fatalf("trace of %s: %+v, %v", id, trace, err)
	}
	return slices.ContainsFunc(trace.Turn.Marks, func(m core.Mark) bool { return m.What == what })
}

const stallAfter = 10 * time.Minute

// The channel is told of a turn of which nothing is heard, once for each silence.
func TestStallIsTold(t *testing.T) {
	play(t, Options{StallAfter: stallAfter}, func(t *testing.T, w *world) {
		updates := w.watching("c")
		m, h, id := w.begun("one")
		w.after(stallAfter - time.Second)
		h.bash(id, "t1", 0)
		w.after(stallAfter - time.Second)
		if us := updates.told(core.UpdateStalled); len(us) != 0 {
			t.Fatalf("told too early: %+v", us)
		}
		w.after(time.Second)
		us := updates.told(core.UpdateStalled)
		if len(us) != 1 || us[0].Turn != id || !slices.Equal(us[0].Messages, []core.MessageID{m.Message.ID}) ||
			!strings.Contains(us[0].Detail, "10m0s") || !strings.Contains(us[0].Detail, "Bash: make") {
			t.Fatalf("told %+v", us)
		}
		if !w.marked(m.Message.ID, "stalled") || !strings.Contains(w.log.String(), "turn is stuck") || w.m.Directory.Stats().Stalled != 1 {
			t.Error("it is neither marked, logged nor counted")
		}
		w.after(time.Hour)
		if us := updates.told(core.UpdateStalled); len(us) != 0 || h.interrupted() != 0 || !h.alive() {
			t.Errorf("told again: %+v; interrupted %d times, alive: %v", us, h.interrupted(), h.alive())
		}
		h.say(core.Event{Type: "assistant"})
		w.after(stallAfter)
		if us := updates.told(core.UpdateStalled); len(us) != 1 {
			t.Errorf("the second silence was told %d times", len(us))
		}
		h.answer(id, "at last")
		w.wants(m, core.Answered, "", "at last")
		w.after(time.Hour)
		if us := updates.told(core.UpdateStalled); len(us) != 0 {
			t.Errorf("told without a turn: %+v", us)
		}
	})
}

func TestStallNever(t *testing.T) {
	play(t, Options{StallAction: StallKill}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.after(1000 * time.Hour)
		h.answer(id, "slow")
		w.wants(m, core.Answered, "", "slow")
	})
}

// A tool that says how long it may take is given that time.
func TestStallWaitsForTool(t *testing.T) {
	play(t, Options{StallAfter: stallAfter, StallAction: StallKill}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.bash(id, "long", time.Hour)
		if st := w.status(); st.State != core.StateRunning || st.Activity != "Bash" || st.Since.IsZero() {
			t.Errorf("status %+v", st)
		}
		h.bash(id, "short", time.Minute)
		h.say(core.Event{Kind: core.ToolEnded, ToolID: "short"})
		w.after(time.Hour + stallAfter - time.Second)
		w.undecided(m)
		h.say(core.Event{Kind: core.ToolEnded, ToolID: "long"})
		w.after(stallAfter - time.Second)
		w.undecided(m)
		w.after(time.Second)
		w.wants(m, core.Failed, core.CodeStalled, "Its process was ended")
	})
}

// Once a tool has ended its time counts no more.
func TestStallAfterTool(t *testing.T) {
	play(t, Options{StallAfter: stallAfter}, func(t *testing.T, w *world) {
		updates := w.watching("c")
		_, h, id := w.begun("one")
		h.bash(id, "long", time.Hour)
		h.say(core.Event{Kind: core.ToolEnded, ToolID: "long"})
		w.after(stallAfter)
		if us := updates.told(core.UpdateStalled); len(us) != 1 || !strings.Contains(us[0].Detail, "after Bash: make") {
			t.Errorf("told %+v", us)
		}
		if st := w.status(); st.Activity != "" {
			t.Errorf("status %+v", st)
		}
	})
}

// Whoever waits for a person is not stuck.
func TestStallNotDuringApproval(t *testing.T) {
	play(t, Options{StallAfter: stallAfter, StallAction: StallKill, ApprovalTimeout: 5 * time.Hour}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one", askable)
		h.ask("r", "Bash")
		w.after(4 * time.Hour)
		as, err := w.m.Decider.Approvals(t.Context())
		if err != nil || len(as) != 1 {
			t.Fatalf("approvals %+v, %v", as, err)
		}
		if _, err := w.m.Decider.Decide(t.Context(), as[0].ID, core.Decision{Allow: true}); err != nil {
			t.Fatal(err)
		}
		w.after(stallAfter - time.Second)
		w.undecided(m)
		h.answer(id, "ok")
		w.wants(m, core.Answered, "", "ok")
	})
}

func TestStallInterrupts(t *testing.T) {
	play(t, Options{StallAfter: stallAfter, StallAction: StallInterrupt}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		behind := w.submit("two")
		w.after(stallAfter)
		if h.interrupted() != 1 {
			t.Fatalf("interrupted %d times", h.interrupted())
		}
		h.aborts(id)
		w.wants(m, core.Failed, core.CodeStalled, "was interrupted")
		next, id := w.running()
		if next != h {
			t.Error("the session was not kept")
		}
		h.answer(id, "ok")
		w.wants(behind, core.Answered, "", "ok")
	})
}

// An agent that does not obey is ended, and nothing is begun before it is gone.
func TestStallEscalates(t *testing.T) {
	play(t, Options{StallAfter: stallAfter, StallAction: StallInterrupt}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.bash(id, "t", 0)
		behind := w.submit("two")
		h.deafen()
		w.after(stallAfter + patientGrace + time.Minute)
		w.undecided(m, behind)
		if w.hostOf("c") != h {
			t.Fatal("another session was started although the first one was not gone")
		}
		h.die()
		w.wants(m, core.Failed, core.CodeStalled, "Done before that: Bash (make).")
		_, id = w.running()
		w.host().answer(id, "ok")
		w.wants(behind, core.Answered, "", "ok")
	})
}

// Somebody who interrupts a turn that is being ended already is not made to wait
// longer than for any other.
func TestInterruptOfStalledTurn(t *testing.T) {
	play(t, Options{StallAfter: stallAfter, StallAction: StallInterrupt}, func(t *testing.T, w *world) {
		m, _, id := w.begun("one")
		w.after(stallAfter)
		i := w.interrupting(id)
		w.after(2 * time.Second)
		w.ended(i)
		w.wants(m, core.Failed, core.CodeStalled, "")
	})
}

func TestStallKills(t *testing.T) {
	play(t, Options{StallAfter: stallAfter, StallAction: StallKill}, func(t *testing.T, w *world) {
		m, h, _ := w.begun("one")
		w.after(stallAfter)
		w.after(time.Second)
		w.wants(m, core.Failed, core.CodeStalled, "Its process was ended")
		if h.interrupted() != 0 {
			t.Error("the agent was asked")
		}
		if l := w.works().launch; !l.Resume {
			t.Errorf("launched as %+v", l)
		}
	})
}

// A new process of the gateway goes on watching.
func TestStallAfterRestart(t *testing.T) {
	play(t, Options{StallAfter: stallAfter, StallAction: StallKill}, func(t *testing.T, w *world) {
		m, _, _ := w.begun("one")
		w.restart()
		w.after(stallAfter)
		w.after(time.Second)
		w.wantsNow(m.Message.ID, core.Failed, core.CodeStalled, "")
	})
}

// What the agent has said in time is heard before it counts as silent, also by a process
// that stood still meanwhile.
func TestNoStallOfWhatIsHeardLate(t *testing.T) {
	play(t, Options{StallAfter: stallAfter}, func(t *testing.T, w *world) {
		updates := w.watching("c")
		m, h, id := w.begun("one")
		l, _ := w.m.lanes.find("c")
		for range 20 { // a select takes either of two that are ready
			release := make(chan struct{})
			l.post(func() { <-release })
			w.after(stallAfter)
			h.say(core.Event{Type: "assistant"})
			synctest.Wait()
			close(release)
			synctest.Wait()
		}
		if us := updates.told(core.UpdateStalled); len(us) != 0 {
			t.Errorf("told %+v", us)
		}
		h.answer(id, "at last")
		w.wants(m, core.Answered, "", "at last")
	})
}
