package lanes

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// The gateway ends, in order or by kill -9, while a turn runs and others wait.
func TestTurnOutlivesGateway(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*world){
		"restart": func(w *world) { w.restart() },
		"crash":   func(w *world) { w.crash(); w.start() },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				a, b := w.submit("two"), w.submit("three", keyed("k", "h"))
				again(w)
				h.tool(id)
				w.wantsNow(m.Message.ID, core.Running, "", "")
				w.wantsNow(a.Message.ID, core.Waiting, "", "")
				d := w.submit("four")
				again(w)
				dup := w.submit("three", keyed("k", "h"))
				if !dup.Existing || dup.Message.ID != b.Message.ID {
					t.Errorf("duplicate: %+v", dup)
				}
				h.finish(id, "1")
				w.wantsNow(m.Message.ID, core.Answered, "", "1")
				same, id := w.running()
				if same != h {
					t.Error("another process runs")
				}
				w.wantTexts(h, "one", "two\n\nthree\n\nfour")
				h.answer(id, "all")
				w.wantsNow(a.Message.ID, core.Answered, "", "")
				w.wants(dup, core.Answered, "", "")
				w.wantsNow(d.Message.ID, core.Answered, "", "all")
			})
		})
	}
}

// The result came while nobody listened.
func TestResultDuringAbsence(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.m.Detach()
		for range 1000 {
			h.say(core.Event{Kind: core.Said})
		}
		h.finish(id, "meanwhile")
		w.start()
		w.wantsNow(m.Message.ID, core.Answered, "", "meanwhile")
		w.works()
	})
}

// Every kind of turn that a dead gateway leaves, with a host that knows it, a
// host that does not, and without a host.
func TestRestore(t *testing.T) {
	t.Parallel()
	fates := []struct {
		name        string
		fate        core.Fate
		err         error
		state       core.State
		code, text  string
		again       bool
		begunBefore bool
	}{
		{name: "never begun", again: true},
		{name: "cut", fate: core.Fate{Begun: true}, again: true},
		{name: "tool", fate: core.Fate{Begun: true, ToolBegun: true, Done: "Bash"}, state: core.Failed, code: core.CodeInterrupted, text: "Done before that: Bash."},
		{name: "interrupted", fate: core.Fate{Begun: true, Interrupted: true}, state: core.Failed, code: core.CodeInterrupted},
		{name: "answered", fate: core.Fate{Begun: true, Answered: true, Text: "on record"}, state: core.Answered, text: "on record"},
		{name: "failed", fate: core.Fate{Begun: true, Failed: true, Code: "api", Text: "API error"}, state: core.Failed, code: "api", text: "API error"},
		{name: "unreadable", err: errCut, state: core.Failed, code: core.CodeInterrupted, text: "cannot be read"},
	}
	for _, c := range fates {
		for _, host := range []string{"knows it", "does not know it", "is gone", "does not answer"} {
			t.Run(c.name+", host "+host, func(t *testing.T) {
				play(t, Options{}, func(t *testing.T, w *world) {
					w.works() // so that there is a session to resume
					m := w.submit("one")
					behind := w.submit("two")
					h, id := w.running()
					w.crash()
					w.agent.fate(id, func(f *core.Fate) { *f = c.fate })
					w.agent.mu.Lock()
					w.agent.fateErr = c.err
					switch host {
					case "does not know it":
						h.turns = nil
					case "is gone":
						h.endLocked()
					case "does not answer":
						w.agent.attachErr = errCut
					}
					w.agent.mu.Unlock()
					w.start()
					synctest.Wait()
					w.agent.mu.Lock()
					w.agent.fateErr, w.agent.attachErr = nil, nil
					w.agent.mu.Unlock()
					switch {
					case host == "knows it":
						w.wantsNow(m.Message.ID, core.Running, "", "")
						w.agent.fate(id, func(f *core.Fate) { *f = core.Fate{} })
						h.answer(id, "ok")
						w.wantsNow(m.Message.ID, core.Answered, "", "ok")
					case c.again:
						now, again := w.running()
						if again != id || (now == h) != (host == "does not know it") {
							t.Errorf("turn %s runs in process %d, want %s", again, now.pid, id)
						}
						now.answer(id, "ok")
						w.wantsNow(m.Message.ID, core.Answered, "", "ok")
					default:
						w.wantsNow(m.Message.ID, c.state, c.code, c.text)
					}
					w.answer("next")
					w.wantsNow(behind.Message.ID, core.Answered, "", "next")
					w.works()
				})
			})
		}
	}
}

// The gateway is killed at every write of a message's life: it is answered once.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*core.Submission){func(*core.Submission) {}, keyed("k", "h"), in("c")} {
		for writes := range 12 {
			playNow(t, Options{}, func(t *testing.T, w *world) {
				w.agent.script = func(h *fakeHost) {
					for {
						select {
						case id := <-h.turn:
							h.answer(id, "ok "+string(id))
						case <-h.stop:
							return
						}
					}
				}
				w.ledger.hold()
				w.ledger.step(writes)
				var sent []*sending
				for i := range 3 {
					sent = append(sent, w.submitting(fmt.Sprint("m", i), change))
				}
				w.after(10 * time.Millisecond)
				w.crash()
				w.ledger.release()
				w.start()
				w.after(time.Minute)
				for _, s := range sent {
					if s.err == nil {
						w.wantsNow(s.ticket.Message.ID, core.Answered, "", "")
					}
				}
				if b, _ := w.m.Lookup.Balance(t.Context()); b.Accepted != b.Answered {
					t.Errorf("balance %+v after a crash at write %d", b, writes)
				}
				for id, n := range w.agent.runs {
					if n != 1 {
						t.Errorf("turn %s ran %d times", id, n)
					}
				}
			})
		}
	}
}

// Waiting messages are dispatched although their channel has no process.
func TestWaitingMessagesAreTakenUp(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		unblock := w.agent.block("start")
		w.submit("one")
		behind := w.submit("two")
		w.crash()
		unblock()
		w.start()
		h, id := w.running()
		h.answer(id, "ok")
		w.answer("ok")
		w.wantsNow(behind.Message.ID, core.Answered, "", "ok")
		w.wantTexts(h, "one", "two")
	})
}

// The gateway dies before it has saved the id of the session that it started.
func TestCrashBeforeSessionIsSaved(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} { // before the gateway is there again
		playNow(t, Options{}, func(t *testing.T, w *world) {
			w.sessions.err = errCut
			m, h, id := w.begun("one")
			w.crash()
			w.sessions.err = nil
			if ends {
				h.finish(id, "ok")
			}
			w.restart()
			if !ends {
				w.restart()
				h.finish(id, "ok")
			}
			w.wantsNow(m.Message.ID, core.Answered, "", "ok")
			w.restart()
			w.works()
			turns, session := h.handed(), h.launch.SessionID
			turn, err := w.ledger.Turn(t.Context(), turns[len(turns)-1])
			if err != nil || turn.SessionID != session || !w.sessions.has("c", session) {
				t.Errorf("turn is recorded in %q, saved is %v, want %s (%v)", turn.SessionID, w.sessions.All(), session, err)
			}
			h.die()
			w.works()
			if got := w.host().launch; !reflect.DeepEqual(got, core.Launch{SessionID: session, Resume: true}) {
				t.Errorf("the next process is started as %+v", got)
			}
		})
	}
}

// What is left of a channel's processes is ended although it has no message.
func TestUnreachableHostIsEnded(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		h := w.works()
		w.m.Detach()
		w.agent.attachErr = errCut
		w.start()
		synctest.Wait()
		if h.alive() {
			t.Error("the host that does not answer lives on")
		}
		w.agent.attachErr = nil
		w.works()
	})
}

func TestShutdownEndsHosts(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.submit("idle", in("d"))
		if err := w.m.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if h.alive() || len(w.agent.hosts) != 0 {
			t.Errorf("%d hosts are left", len(w.agent.hosts))
		}
		w.start()
		h, again := w.running()
		if again != id {
			t.Fatalf("turn %s runs, want %s", again, id)
		}
		h.answer(id, "ok")
		w.wantsNow(m.Message.ID, core.Answered, "", "ok")
	})
}

// Each phase in which the gateway may be told to leave: whoever submits hears the
// truth, and nothing is left running (the bubble checks it).
func TestDetachInEachPhase(t *testing.T) {
	t.Parallel()
	for name, phase := range map[string]func(w *world) (goOn func()){
		"accepting": func(w *world) func() { w.ledger.hold(); return w.ledger.release },
		"refusing": func(w *world) func() {
			w.ledger.hold()
			w.ledger.setDown(core.ErrStorageFull)
			return func() { w.ledger.release() }
		},
		"starting":   func(w *world) func() { return w.agent.block("start") },
		"running":    func(w *world) func() { return func() {} },
		"recovering": func(w *world) func() { w.works(); unblock := w.agent.block("reap"); w.host().die(); return unblock },
		"attaching": func(w *world) func() {
			w.works()
			w.m.Detach()
			unblock := w.agent.block("attach")
			w.start()
			return unblock
		},
		"ledger down": func(w *world) func() {
			m, h, id := w.begun("x")
			w.ledger.setDown(core.ErrStorage)
			h.answer(id, "ok")
			w.outcome(m)
			return func() {}
		},
	} {
		for _, order := range []string{"before", "after"} {
			t.Run(name+", "+order, func(t *testing.T) {
				play(t, Options{}, func(t *testing.T, w *world) {
					goOn := phase(w)
					sent := []*sending{w.submitting("one"), w.submitting("two"), w.submitting("three", keyed("k", "h"))}
					left := make(chan struct{})
					if order == "before" {
						goOn()
					}
					go func() { w.m.Detach(); close(left) }()
					synctest.Wait()
					late := w.submitting("late")
					if order == "after" {
						goOn()
					}
					<-left
					synctest.Wait()
					w.wantErr(late.err, core.ErrClosed)
					for i, s := range sent {
						if !s.over.Load() {
							t.Fatalf("submission %d still waits", i)
						}
						if s.err != nil {
							continue
						}
						if got, err := w.ledger.Message(t.Context(), s.ticket.Message.ID); err != nil {
							t.Errorf("submission %d was accepted, the ledger says %+v, %v", i, got, err)
						}
					}
					accepted := 0
					for _, s := range sent {
						if s.err == nil {
							accepted++
						}
					}
					w.ledger.setDown(nil)
					w.start()
					w.after(time.Minute)
					known, err := w.m.Lookup.Messages(t.Context(), "c", 100, "")
					if err != nil {
						t.Fatal(err)
					}
					kept := 0
					for _, m := range known {
						if slices.Contains([]string{"one", "two", "three"}, m.Prompt.Text) {
							kept++
						}
					}
					if kept != accepted {
						t.Errorf("%d submissions were told to be accepted, %d are on record", accepted, kept)
					}
				})
			})
		}
	}
}
