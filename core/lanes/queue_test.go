package lanes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

func TestOneMessageIsAnswered(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m := w.submit("hello")
		h, id := w.running()
		if h.launch.Resume {
			t.Error("the first session was resumed")
		}
		if !w.sessions.has("c", h.launch.SessionID) {
			t.Error("the session's id was not saved")
		}
		time.Sleep(2 * time.Second)
		h.begin(id)
		h.results(core.Result{Text: "hi", Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: 0.25})
		got := w.wants(m, core.Answered, "", "hi")
		if got.Reply.Duration != 2*time.Second || got.Reply.CostUSD != 0.25 || got.Reply.SessionID != h.launch.SessionID {
			t.Errorf("reply is %+v", got.Reply)
		}
		w.wantTexts(h, "hello")
	})
}

func TestWhatWaitsBecomesOneTurn(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		first, h, id := w.begun("one")
		var waiting []*core.Ticket
		for i := range 3 {
			waiting = append(waiting, w.submit(fmt.Sprint("more ", i)))
		}
		if pos := w.m.Lookup.QueuePosition(waiting[1].Message.ID).Position; pos != 2 {
			t.Errorf("position = %d, want 2", pos)
		}
		h.result("1", id)
		w.wants(first, core.Answered, "", "1")
		synctest.Wait()
		w.wantTexts(h, "one") // the agent is not done with the turn yet
		h.done(id)
		_, id = w.running()
		w.wantTexts(h, "one", "more 0\n\nmore 1\n\nmore 2")
		h.answer(id, "all")
		carrier := waiting[2].Message.ID
		for i, m := range waiting {
			got := w.outcome(m).Reply
			want := core.Reply{State: core.Answered, Text: "all", SessionID: h.launch.SessionID}
			if i < 2 {
				want.Text, want.Coalesced, want.Into = "", true, carrier
			}
			got.Duration, want.Duration = 0, 0
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("message %d: reply %+v, want %+v", i, got, want)
			}
		}
	})
}

// The lane goes on without the agent's word that it is done, if a bit later.
func TestLaneIsReleasedWithoutCompleted(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		w.submit("two")
		h.result("1", id)
		w.after(releaseAfter - time.Millisecond)
		w.wantTexts(h, "one")
		w.after(time.Millisecond)
		w.wantTexts(h, "one", "two")
		h.done(id) // late, and of no meaning any more
		synctest.Wait()
		w.wantTexts(h, "one", "two")
	})
}

func TestOrderIsKeptAcrossBatches(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		h, id := w.runningAfter("m0")
		n := 1
		for batch := range 20 {
			for range batch%4 + 1 {
				change := func(*core.Submission) {}
				if n%3 == 0 {
					change = keyed(fmt.Sprint("key", n), "h")
				}
				w.submitting(fmt.Sprint("m", n), change)
				n++
			}
			h.answer(id, "ok")
			_, id = w.running()
		}
		h.answer(id, "ok")
		synctest.Wait()
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint("m", i))
		}
		if got := strings.Split(strings.Join(w.handedTexts(h), "\n\n"), "\n\n"); !slices.Equal(got, want) {
			t.Errorf("order = %v, want %v", got, want)
		}
	})
}

func (w *world) runningAfter(text string) (*fakeHost, core.TurnID) {
	w.t.Helper()
	w.submit(text)
	return w.running()
}

func TestCommandsAreAlone(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		h, id := w.runningAfter("first")
		for _, text := range []string{"a", "b", "/compact", "/clear", "c", "d"} {
			w.submit(text)
		}
		for range 4 {
			h.answer(id, "ok")
			_, id = w.running()
		}
		w.wantTexts(h, "first", "a\n\nb", "/compact", "/clear", "c\n\nd")
	})
}

func TestQueueIsBounded(t *testing.T) {
	play(t, Options{QueueLimit: 3}, func(t *testing.T, w *world) {
		_, h, id := w.begun("running")
		w.submit("a")
		w.submit("b")
		s := w.submitting("one too many")
		w.wantErr(s.err, core.ErrQueueFull)
		if _, err := w.m.Submit(t.Context(), submission("other", in("d"))); err != nil {
			t.Errorf("another channel: %v", err)
		}
		h.answer(id, "ok")
		synctest.Wait()
		w.submit("fits now")
		if s := w.m.Directory.Stats(); s.QueueRefused != 1 {
			t.Errorf("stats are %+v", s)
		}
	})
}

func TestChannelsDoNotWaitForEachOther(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.begun("hangs")
		other := w.submit("quick", in("d"))
		h := w.hostOf("d")
		h.answer(h.handed()[0], "done")
		w.wants(other, core.Answered, "", "done")
	})
}

func TestCancelWaiting(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		running, h, id := w.begun("running")
		gone, stays := w.submit("gone"), w.submit("stays")
		got, err := w.m.Cancel(t.Context(), gone.Message.ID)
		if err != nil || got.State != core.Cancelled || got.Reply.Code != core.CodeCancelled {
			t.Errorf("cancelled: %+v, %v", got, err)
		}
		for _, m := range []*core.Ticket{gone, running} {
			if got, err = w.m.Cancel(t.Context(), m.Message.ID); got.ID != m.Message.ID {
				t.Errorf("refused without the message: %+v", got)
			}
			w.wantErr(err, core.ErrNotWaiting)
		}
		_, err = w.m.Cancel(t.Context(), "unknown")
		w.wantErr(err, core.ErrNotFound)
		h.answer(id, "ok")
		w.serve(stays, "ok")
		w.wantTexts(h, "running", "stays")
	})
}

func TestBadContentIsRefused(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		for name, c := range map[string]core.Content{
			"empty": {}, "no UTF-8": {Text: "\xff"}, "no JSON": {Blocks: []jsonRaw{jsonRaw(`{"type":`)}}, "empty block": {Blocks: []jsonRaw{nil}},
		} {
			s := submission("")
			s.Content = c
			if _, err := w.m.Submit(t.Context(), s); err == nil {
				t.Errorf("%s: accepted", name)
			} else {
				w.wantErr(err, core.ErrBadContent)
			}
		}
		w.works()
	})
}

// A message of which no turn can be made ends alone, and those that wait with it run.
func TestUncomposable(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.agent.refuses = "bad"
		s := w.submitting("bad")
		w.wantErr(s.err, core.ErrBadContent)
		h, id := w.runningAfter("one")
		before, bad, after := w.submit("before"), w.submit("bad"), w.submit("after")
		for range 3 {
			h.answer(id, "ok")
			_, id = w.running()
		}
		w.wants(before, core.Answered, "", "ok")
		w.wants(bad, core.Failed, core.CodeBadContent, "")
		w.wants(after, core.Answered, "", "ok")
		w.wantTexts(h, "one", "before", "after")
	})
}

func TestStatsAndStatus(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		status := func() core.ChannelStatus {
			t.Helper()
			st, err := w.m.Directory.Channel(t.Context(), "c")
			if err != nil {
				t.Fatal(err)
			}
			return st
		}
		_, err := w.m.Directory.Channel(t.Context(), "c")
		w.wantErr(err, core.ErrNotFound)
		unblock := w.agent.block("start")
		w.submit("one")
		if st := status(); st.State != core.StateRunning || st.Running != 1 {
			t.Errorf("while starting: %+v", st)
		}
		unblock()
		h, id := w.running()
		h.becomeReady()
		h.begin(id)
		h.tool(id)
		w.submit("two")
		w.submit("three")
		if st := status(); st.State != core.StateRunning || st.Running != 1 || st.Waiting != 2 || st.Activity != "Bash" || st.Turn != id || st.HostPID != 1 || st.Messages != 3 {
			t.Errorf("while running: %+v", st)
		}
		if s := w.m.Directory.Stats(); s.Lanes != 1 || s.Sessions != 1 || s.Running != 1 || s.Waiting != 2 {
			t.Errorf("stats while running: %+v", s)
		}
		h.finish(id, "ok")
		_, id = w.running()
		h.result("ok", id)
		synctest.Wait()
		if s := w.m.Directory.Stats(); s.Running != 0 || s.Waiting != 0 || s.Turns != 2 {
			t.Errorf("stats after the result: %+v", s)
		}
		if st := status(); st.State != core.StateReady || st.Activity != "" {
			t.Errorf("when idle: %+v", st)
		}
		h.exit(core.Exit{Text: "ended"})
		synctest.Wait()
		if st := status(); st.State != core.StateIdle || st.HostPID != 0 || st.SessionID == "" {
			t.Errorf("without a process: %+v", st)
		}
		if s := w.m.Directory.Stats(); s.Sessions != 0 {
			t.Errorf("stats without a process: %+v", s)
		}
	})
}

func TestTrace(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		first, h, id := w.begun("one")
		second := w.submit("two")
		h.tool(id)
		synctest.Wait()
		trace, err := w.m.Lookup.Trace(t.Context(), second.Message.ID)
		if err != nil || trace.Position != 1 || trace.Turn != nil {
			t.Errorf("trace of what waits: %+v, %v", trace, err)
		}
		whats := func() (whats []string) {
			trace, err := w.m.Lookup.Trace(t.Context(), first.Message.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range trace.Turn.Marks {
				whats = append(whats, m.What)
			}
			return whats
		}
		if got, want := whats(), []string{"handed", "agent_ready", "started", "first_event", "tool"}; !slices.Equal(got, want) {
			t.Errorf("marks = %v, want %v", got, want)
		}
		h.result("ok", id)
		synctest.Wait()
		if got, want := whats(), []string{"handed", "agent_ready", "started", "first_event", "tool", "ended"}; !slices.Equal(got, want) {
			t.Errorf("marks at the end = %v, want %v", got, want)
		}
	})
}

// A subscriber sees the life of a message in order.
func TestSubscribe(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		sub := w.m.Feeds.Subscribe("c")
		defer sub.Close()
		kinds := func() (kinds []core.UpdateKind) {
			for u, ok := sub.Next(); ok; u, ok = sub.Next() {
				kinds = append(kinds, u.Kind)
			}
			return kinds
		}
		_, h, id := w.begun("one")
		w.submit("two")
		h.tool(id)
		h.result("ok", id)
		synctest.Wait()
		want := []core.UpdateKind{core.UpdateAccepted, core.UpdateStarted, core.UpdateAccepted, core.UpdateQueued, core.UpdateEvent, core.UpdateEvent, core.UpdateResult}
		if got := kinds(); !slices.Equal(got, want) {
			t.Errorf("updates = %v, want %v", got, want)
		}
	})
}

// Whoever goes away before the acceptance leaves nothing behind.
func TestSubmitterLeaves(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.ledger.hold()
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		go func() { _, err = w.m.Submit(ctx, submission("refused later")) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		w.wantErr(err, context.Canceled)
		w.ledger.setDown(core.ErrStorageFull)
		w.ledger.release()
		synctest.Wait()
		if n := len(w.m.tickets.open); n != 0 {
			t.Errorf("%d tickets are left of refused messages", n)
		}
		w.ledger.setDown(nil)
		w.works()
		w.after(time.Second)
		if n := len(w.m.tickets.open); n != 0 {
			t.Errorf("%d tickets are left of answered messages", n)
		}
	})
}
