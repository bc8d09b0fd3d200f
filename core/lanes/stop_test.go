package lanes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// interrupting asks for the running turn's end without waiting for it.
func (w *world) interrupting(turn core.TurnID) *interrupting {
	i := &interrupting{}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	go func() {
		defer cancel()
		i.hit, i.err = w.m.Interrupt(ctx, "c", turn)
		i.over = true
	}()
	synctest.Wait()
	return i
}

type interrupting struct {
	hit  Interruption
	err  error
	over bool
}

func (w *world) ended(i *interrupting) {
	w.t.Helper()
	synctest.Wait()
	if !i.over || i.err != nil {
		w.t.Errorf("interrupt: over %v, %+v, %v", i.over, i.hit, i.err)
	}
}

func TestInterrupt(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		behind := w.submit("two")
		i := w.interrupting(id)
		second := w.interrupting("")
		if h.interrupted() != 1 || i.over {
			t.Errorf("the agent was asked %d times, over: %v", h.interrupted(), i.over)
		}
		time.Sleep(100 * time.Millisecond)
		h.aborts(id)
		w.ended(i)
		w.ended(second)
		if i.hit.Turn != id || i.hit.Took != 100*time.Millisecond || len(i.hit.Messages) != 1 {
			t.Errorf("interruption: %+v", i.hit)
		}
		w.wants(m, core.Cancelled, core.CodeInterrupted, "on request")
		next, id := w.running()
		if next != h {
			t.Error("the session was not kept")
		}
		h.answer(id, "ok")
		w.wants(behind, core.Answered, "", "ok")
		w.after(time.Minute)
		if !h.alive() {
			t.Error("the agent was ended although it had obeyed")
		}
	})
}

func TestInterruptNamesItsTurn(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, err := w.m.Interrupt(t.Context(), "c", "")
		w.wantErr(err, core.ErrNotFound)
		_, h, old := w.begun("one")
		h.finish(old, "ok")
		m, h, id := w.begun("two")
		_, err = w.m.Interrupt(t.Context(), "c", old)
		w.wantErr(err, core.ErrNothingRuns)
		h.answer(id, "ok")
		w.wants(m, core.Answered, "", "ok")
		_, err = w.m.Interrupt(t.Context(), "c", "")
		w.wantErr(err, core.ErrNothingRuns)
		if h.interrupted() != 0 {
			t.Errorf("the agent was interrupted %d times", h.interrupted())
		}
	})
}

// An agent that does not end the turn in time is ended itself.
func TestInterruptKills(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.tool(id)
		behind := w.submit("two")
		i := w.interrupting("")
		w.after(interruptGrace - time.Millisecond)
		w.undecided(m)
		w.after(time.Millisecond)
		w.ended(i)
		if i.hit.Took > 2*time.Second {
			t.Errorf("took %s", i.hit.Took)
		}
		w.wants(m, core.Cancelled, core.CodeInterrupted, "Done before that: Bash (make).")
		w.serve(behind, "ok")
	})
}

// The turn ends by itself just when it is interrupted.
func TestInterruptComesLate(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		i := w.interrupting("")
		h.finish(id, "done already")
		w.ended(i)
		w.wants(m, core.Answered, "", "done already")
		w.after(time.Minute)
		if !h.alive() {
			t.Error("the agent was ended")
		}
	})
}

// A turn can be stopped in every phase of its life.
func TestInterruptInEachPhase(t *testing.T) {
	t.Parallel()
	for name, phase := range map[string]func(w *world) (goOn func()){
		"freezing": func(w *world) func() {
			w.ledger.hold()
			return w.ledger.release
		},
		"starting": func(w *world) func() { return w.agent.block("start") },
		"freezing and starting": func(w *world) func() {
			w.ledger.hold()
			unblock := w.agent.block("start")
			return func() { unblock(); synctest.Wait(); w.ledger.release() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				goOn := phase(w)
				s := w.submitting("one")
				i := w.interrupting("")
				goOn()
				w.ended(i)
				w.wants(s.ticket, core.Cancelled, core.CodeInterrupted, "")
				h := w.works()
				w.wantTexts(h, "still there?")
			})
		})
	}
}

func TestInterruptWhileRecovering(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		unblock := w.agent.block("fate")
		h.die()
		synctest.Wait()
		i := w.interrupting(id)
		unblock()
		w.ended(i)
		w.wants(m, core.Cancelled, core.CodeInterrupted, "")
		w.works()
		if n := w.agent.runs[id]; n != 1 {
			t.Errorf("the turn ran %d times", n)
		}
	})
}

// A turn is stopped while the new process still looks for its host.
func TestInterruptWhileAttaching(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.crash()
		unblock := w.agent.block("attach")
		w.start()
		i := w.interrupting("")
		unblock()
		synctest.Wait()
		if h.interrupted() != 1 {
			t.Errorf("the agent was interrupted %d times", h.interrupted())
		}
		h.aborts(id)
		w.ended(i)
		w.wantsNow(m.Message.ID, core.Cancelled, core.CodeInterrupted, "")
	})
}

// A turn is stopped while it is frozen, which then fails.
func TestInterruptOfUnwrittenTurn(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		accepted := w.submit("accepted before")
		w.ledger.fail(core.ErrStorageFull, 1, begins)
		h.result("ok", id)
		synctest.Wait()
		w.ledger.hold()
		h.done(id)
		synctest.Wait()
		i := w.interrupting("")
		w.ledger.release()
		w.ended(i)
		w.wants(accepted, core.Cancelled, core.CodeInterrupted, "")
		w.ledger.fail(core.ErrStorageFull, 1, begins)
		w.ledger.hold()
		s := w.submitting("not accepted yet")
		i = w.interrupting("")
		w.ledger.release()
		w.ended(i)
		w.wantErr(s.err, core.ErrStorageFull)
		w.wantTexts(w.works(), "one", "still there?")
	})
}

func TestInterruptBeforeFailedStart(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.agent.startErr = &core.AgentError{Code: "agent_missing", Text: "Claude Code was not found."}
		unblock := w.agent.block("start")
		w.ledger.hold()
		s := w.submitting("one")
		i := w.interrupting("")
		unblock()
		synctest.Wait()
		w.ledger.release()
		w.ended(i)
		w.wants(s.ticket, core.Cancelled, core.CodeInterrupted, "")
	})
}

func TestInterruptMode(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		urgent := w.submit("urgent", mode(core.Interrupt))
		if h.interrupted() != 1 {
			t.Errorf("the agent was interrupted %d times", h.interrupted())
		}
		h.aborts(id)
		w.wants(m, core.Cancelled, core.CodeInterrupted, "newer message")
		w.serve(urgent, "ok")
		w.submit("idle now", mode(core.Interrupt))
		w.answer("ok")
		w.after(time.Minute)
		if h.interrupted() != 1 {
			t.Errorf("the agent was interrupted %d times", h.interrupted())
		}
	})
}

// interruptedUnheard submits a message that interrupts, and crashes when that is on record
// and before anything comes of it.
func (w *world) interruptedUnheard(text string) core.MessageID {
	w.t.Helper()
	w.ledger.setUnheard(true)
	s := w.submitting(text, mode(core.Interrupt))
	synctest.Wait()
	w.crash()
	w.ledger.setUnheard(false)
	messages, err := w.ledger.Messages(w.t.Context(), "c", 1, "")
	if err != nil || len(messages) != 1 || messages[0].Prompt.Text != text {
		w.t.Fatalf("the newest message is %+v, %v", messages, err)
	}
	if s.over.Load() && s.err == nil {
		w.t.Fatal("its sender was told")
	}
	return messages[0].ID
}

// The turn that a message interrupts is on record with it: a new process does what the old
// one had no time for.
func TestInterruptModeAfterACrash(t *testing.T) {
	t.Parallel()
	for name, dead := range map[string]bool{"the agent works": false, "the agent is dead": true} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				urgent := w.interruptedUnheard("urgent")
				if h.interrupted() != 0 {
					t.Fatal("interrupted before the crash")
				}
				if dead {
					h.die()
				}
				w.start()
				synctest.Wait()
				if !dead {
					if h.interrupted() != 1 {
						t.Fatalf("the agent was interrupted %d times", h.interrupted())
					}
					h.aborts(id)
				}
				w.wantsNow(m.Message.ID, core.Cancelled, core.CodeInterrupted, "newer message")
				w.answer("ok")
				w.wantsNow(urgent, core.Answered, "", "ok")
			})
		})
	}
}

// A turn that began after the message had come is not its concern, in this life or the next.
func TestInterruptModeNamesItsTurn(t *testing.T) {
	t.Parallel()
	t.Run("crash", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, w *world) {
			m, h, id := w.begun("one")
			between := w.submit("/context") // a turn of its own
			urgent := w.interruptedUnheard("urgent")
			h.finish(id, "ok")
			w.start()
			synctest.Wait()
			w.wantsNow(m.Message.ID, core.Answered, "", "ok")
			h, id = w.running()
			h.begin(id)
			w.after(time.Minute)
			if h.interrupted() != 0 {
				t.Error("a later turn was interrupted")
			}
			h.answer(id, "the context")
			w.wantsNow(between.Message.ID, core.Answered, "", "the context")
			w.answer("at last")
			w.wantsNow(urgent, core.Answered, "", "at last")
		})
	})
	t.Run("crash, and the agent is at another turn", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, w *world) {
			m, h, id := w.begun("one")
			steered := w.submit("two", mode(core.Steer))
			_, next := w.running()
			urgent := w.interruptedUnheard("urgent")
			h.finish(id, "ok")
			h.begin(next)
			w.start()
			w.after(time.Minute)
			w.wantsNow(m.Message.ID, core.Answered, "", "ok")
			if h.interrupted() != 0 {
				t.Error("a later turn was interrupted")
			}
			h.answer(next, "both")
			w.wantsNow(steered.Message.ID, core.Answered, "", "both")
			w.answer("at last")
			w.wantsNow(urgent, core.Answered, "", "at last")
		})
	})
	t.Run("slow disk", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, w *world) {
			_, h, id := w.begun("one")
			between := w.submit("/context")
			w.ledger.hold()
			urgent := w.submitting("urgent", mode(core.Interrupt))
			h.finish(id, "ok")
			synctest.Wait()
			w.ledger.release()
			synctest.Wait()
			h, id = w.running()
			w.after(time.Minute)
			if h.interrupted() != 0 {
				t.Error("a later turn was interrupted")
			}
			h.answer(id, "the context")
			w.wants(between, core.Answered, "", "the context")
			w.serve(urgent.ticket, "at last")
		})
	})
}

// A message does not interrupt the turn that it has become part of itself.
func TestInterruptModeSparesItsOwnTurn(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.ledger.hold()
		s := w.submitting("urgent", mode(core.Interrupt))
		h.finish(id, "ok")
		synctest.Wait()
		w.ledger.release()
		w.after(time.Millisecond)
		w.wants(m, core.Answered, "", "ok")
		w.serve(s.ticket, "ok")
	})
}

func TestTimeout(t *testing.T) {
	play(t, Options{TurnTimeout: time.Minute}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		behind := w.submit("two")
		w.after(time.Minute - time.Millisecond)
		if h.interrupted() != 0 {
			t.Error("interrupted too early")
		}
		w.after(time.Millisecond)
		if h.interrupted() != 1 {
			t.Error("not interrupted in time")
		}
		h.aborts(id)
		w.wants(m, core.Failed, core.CodeTimeout, "longer than TIMEOUT allows")
		_, id = w.running()
		w.after(50 * time.Second)
		h.answer(id, "ok")
		w.wants(behind, core.Answered, "", "ok")
		w.after(time.Hour)
		if h.interrupted() != 1 {
			t.Errorf("interrupted %d times", h.interrupted())
		}
	})
}

// The time bounds the turn, however often it is handed over.
func TestTimeoutAcrossDeaths(t *testing.T) {
	play(t, Options{TurnTimeout: time.Minute}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.after(40 * time.Second)
		h.die()
		h, _ = w.running()
		h.begin(id)
		w.after(20*time.Second + interruptGrace)
		w.wants(m, core.Failed, core.CodeTimeout, "")
		w.works()
	})
}

// The agent is asked to end a turn that it has not begun: once more when it has.
func TestInterruptBeforeAgentBegins(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m := w.submit("one")
		h, id := w.running()
		h.becomeReady()
		synctest.Wait()
		i := w.interrupting("")
		h.begin(id)
		synctest.Wait()
		if n := h.interrupted(); n != 2 {
			t.Errorf("interrupted %d times", n)
		}
		h.aborts(id)
		w.ended(i)
		w.wants(m, core.Cancelled, core.CodeInterrupted, "")
	})
}

// An agent that is still starting is not asked, since it would begin the turn.
func TestInterruptWhileAgentStarts(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m := w.submit("one")
		steered := w.submit("two", mode(core.Steer))
		h := w.host()
		id := h.handed()[0]
		i := w.interrupting("")
		w.ended(i)
		if h.interrupted() != 0 || h.alive() || i.hit.Took != 0 {
			t.Errorf("interrupted %d times, host alive: %v, took %s", h.interrupted(), h.alive(), i.hit.Took)
		}
		w.wants(m, core.Cancelled, core.CodeInterrupted, "")
		w.serve(steered, "ok")
		if n := w.agent.runs[id]; n != 0 {
			t.Errorf("the turn ran %d times", n)
		}
	})
}

// The agent ends a turn on request without a result.
func TestInterruptWithoutResult(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.tool(id)
		i := w.interrupting("")
		h.done(id)
		w.after(recordAfter)
		w.ended(i)
		w.wants(m, core.Cancelled, core.CodeInterrupted, "Done before that: Bash (make).")
		if w.works() != h {
			t.Error("the session was not kept")
		}
	})
}

// Whoever waits for the end of an interruption hears of the shutdown.
func TestInterruptDuringShutdown(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.begun("one")
		i := w.interrupting("")
		w.m.Detach()
		synctest.Wait()
		w.wantErr(i.err, core.ErrClosed)
	})
}
