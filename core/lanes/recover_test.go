package lanes

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// The agent dies during a turn that called no tool: it runs again, with the same
// bytes and uuid (which the fake host checks).
func TestTextTurnRunsAgain(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*fakeHost){
		"agent exits":    func(h *fakeHost) { h.exit(core.Exit{Code: "agent_exit", Text: "Claude was killed."}) },
		"host is killed": func(h *fakeHost) { h.die() },
		"connection cut": func(h *fakeHost) { h.cut() },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, first, id := w.begun("one")
				behind := w.submit("two")
				end(first)
				h, again := w.running()
				if h == first || first.alive() {
					t.Error("the old process lives on")
				}
				if again != id || len(h.handed()) != 1 {
					t.Errorf("turns handed over after the end: %v, want %s", h.handed(), id)
				}
				h.answer(id, "ok")
				w.wants(m, core.Answered, "", "ok")
				w.serve(behind, "ok")
				if s := w.m.Directory.Stats(); s.Resent != 1 {
					t.Errorf("stats are %+v", s)
				}
			})
		})
	}
}

func TestTurnIsTriedThreeTimes(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m := w.submit("deadly")
		behind := w.submit("harmless")
		for range maxAttempts {
			w.undecided(m)
			h, id := w.running()
			h.begin(id)
			h.exit(core.Exit{Code: "agent_exit", Text: "Claude was killed."})
			synctest.Wait()
		}
		w.wants(m, core.Failed, "agent_exit", "Claude was killed. This message was tried 3 times.")
		h, id := w.running()
		h.answer(id, "ok")
		w.wants(behind, core.Answered, "", "ok")
		if n := w.agent.runs[h.handed()[0]]; n != 1 {
			t.Errorf("the next turn ran %d times", n)
		}
	})
}

// A session that has to be started while the disk is full is started when there is room,
// and the turn that needs it waits; a ledger that cannot be read for another reason fails it.
func TestSessionWaitsForRoom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		failed bool
	}{
		"disk full": {err: core.ErrStorageFull},
		"damaged":   {err: core.ErrStorage, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				w.works()
				m, h, _ := w.begun("needs a session")
				w.ledger.setUnreadable(c.err)
				h.die()
				w.after(time.Minute)
				if c.failed {
					w.wants(m, core.Failed, core.CodeStorage, "")
					w.ledger.setUnreadable(nil)
					w.works()
					return
				}
				w.undecided(m)
				w.ledger.setUnreadable(nil)
				w.after(saveRetry)
				w.serve(m, "ok")
			})
		})
	}
}

// TestInterruptedWhileTheDiskIsFull ends a turn that waits for room to start its session.
func TestInterruptedWhileTheDiskIsFull(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.works()
		m, h, _ := w.begun("needs a session")
		w.ledger.setUnreadable(core.ErrStorageFull)
		h.die()
		w.after(time.Minute)
		if _, err := w.m.Interrupt(t.Context(), m.Message.Channel, ""); err != nil {
			t.Fatal(err)
		}
		w.wants(m, core.Cancelled, core.CodeInterrupted, "")
		w.ledger.setUnreadable(nil)
		w.works()
	})
}

// A turn that had begun a tool is told as interrupted, whether an event showed
// the tool or only the record.
func TestToolTurnNeverRunsAgain(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]func(w *world, h *fakeHost, id core.TurnID){
		"event and record": func(w *world, h *fakeHost, id core.TurnID) { h.tool(id) },
		"event only": func(w *world, h *fakeHost, id core.TurnID) {
			h.say(core.Event{Kind: core.ToolBegun})
		},
		"record only": func(w *world, h *fakeHost, id core.TurnID) {
			w.agent.fate(id, func(f *core.Fate) { f.ToolBegun = true })
		},
		"interrupted": func(w *world, h *fakeHost, id core.TurnID) {
			w.agent.fate(id, func(f *core.Fate) { f.Interrupted = true })
		},
		"unreadable": func(w *world, h *fakeHost, id core.TurnID) { w.agent.fateErr = errors.New("disk is gone") },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				tool(w, h, id)
				synctest.Wait()
				h.die()
				w.wants(m, core.Failed, core.CodeInterrupted, "not run again")
				w.agent.fateErr = nil
				w.works()
				if n := w.agent.runs[id]; n != 1 {
					t.Errorf("the turn ran %d times", n)
				}
			})
		})
	}
}

// The turn had ended although its result did not come through.
func TestEndIsReadFromRecord(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.agent.fate(id, func(f *core.Fate) { f.ToolBegun, f.Answered, f.Text = true, true, "from the record" })
		h.die()
		w.wants(m, core.Answered, "", "from the record")
		m, h, id = w.begun("two")
		w.agent.fate(id, func(f *core.Fate) { f.Failed, f.Code, f.Text = true, "api", "API error" })
		h.die()
		w.wants(m, core.Failed, "api", "API error")
	})
}

// An error that named no turn, followed by the end: it is what the user is told.
func TestStrayErrorBeforeExit(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, _ := w.begun("one")
		h.results(core.Result{IsError: true, Code: "budget", Error: "Budget exhausted."})
		h.exit(core.Exit{Text: "exit status 1"})
		w.wants(m, core.Failed, "budget", "Budget exhausted.")

		// One that came while nothing ran, or before another answer, is not.
		h = w.works()
		h.results(core.Result{IsError: true, Code: "odd", Error: "Odd."})
		synctest.Wait()
		m, h, id := w.begun("two")
		h.exit(core.Exit{Text: "exit status 1"})
		h, again := w.running()
		if again != id {
			t.Fatalf("turn %s is not handed over again", id)
		}
		h.answer(id, "ok")
		w.wants(m, core.Answered, "", "ok")
	})
}

// The agent does not run again what it was handed again, but says that it is
// done: the user is told of the death.
func TestTurnIsNotRunAgainByAgent(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, _ := w.begun("one")
		h.exit(core.Exit{Code: "agent_exit", Text: "Claude was killed."})
		h, id := w.running()
		h.done(id)
		w.after(recordAfter)
		w.wants(m, core.Failed, "agent_exit", "Claude was killed.")
		w.works()
	})
}

// A conversation that cannot be resumed is begun anew, which is told once.
func TestUnknownSession(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		h := w.works()
		old := h.launch.SessionID
		h.die()
		delete(w.agent.known, old)
		m := w.submit("after the loss")
		h, id := w.running()
		if h.launch.SessionID == old || h.launch.Resume || !w.sessions.has("c", h.launch.SessionID) {
			t.Errorf("session %s is followed by %+v, saved as %v", old, h.launch, w.sessions.All())
		}
		turn, err := w.ledger.Turn(t.Context(), id)
		if err != nil || turn.SessionID != h.launch.SessionID || !turn.Opens {
			t.Errorf("turn is recorded as %+v, %v", turn, err)
		}
		h.answer(id, "ok")
		got := w.wants(m, core.Answered, "", "ok").Reply
		if !slices.Equal(codes(got.Notices), []string{"fresh_session"}) || got.SessionID != h.launch.SessionID {
			t.Errorf("reply is %+v", got)
		}
		h.die()
		m = w.submit("once more")
		h, id = w.running()
		if !h.launch.Resume {
			t.Errorf("started as %+v", h.launch)
		}
		h.answer(id, "ok")
		if got := w.wants(m, core.Answered, "", "ok").Reply.Notices; len(got) != 0 {
			t.Errorf("told again: %v", got)
		}
	})
}

// A session that was begun by a turn of which the ledger has no result exists
// already: it is resumed.
func TestSessionInUse(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		session := h.launch.SessionID
		h.exit(core.Exit{Text: "killed"})
		h, again := w.running()
		if again != id || !reflect.DeepEqual(h.launch, core.Launch{SessionID: session, Resume: true}) {
			t.Errorf("turn %s in %+v", again, h.launch)
		}
		h.answer(id, "ok")
		if got := w.wants(m, core.Answered, "", "ok").Reply.Notices; len(got) != 0 {
			t.Errorf("notices: %v", got)
		}
		if n := len(w.agent.launches); n != 3 {
			t.Errorf("%d starts, want 3", n)
		}
	})
}

// Neither begin nor resume works: that ends.
func TestSessionNeitherBeginsNorResumes(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.agent.script = func(h *fakeHost) {
			reason := core.ExitSessionInUse
			if h.launch.Resume {
				reason = core.ExitUnknownSession
			}
			h.exit(core.Exit{Reason: reason, Code: "agent_exit", Text: "No."})
		}
		m := w.submit("one")
		w.after(time.Minute)
		w.wants(m, core.Failed, "agent_exit", "No")
		w.agent.script = nil
		w.works()
	})
}

// A session that cannot be started is told; the next message tries again.
func TestStartFails(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.agent.startErr = &core.AgentError{Code: "agent_missing", Text: "Claude Code was not found.", Err: errors.New("no file")}
		m := w.submit("one")
		w.wants(m, core.Failed, "agent_missing", "Claude Code was not found.")
		unblock := w.agent.block("start")
		m = w.submit("two")
		behind := w.submit("three")
		unblock()
		w.wants(m, core.Failed, "agent_missing", "Claude Code was not found.")
		w.wants(behind, core.Failed, "agent_missing", "Claude Code was not found.")
		w.agent.startErr = nil
		w.works()

		// The same for a process that starts but never becomes ready.
		w.host().die()
		w.agent.script = func(h *fakeHost) {
			h.exit(core.Exit{Reason: core.ExitStartFailed, Code: "agent_timeout", Text: "Claude did not start."})
		}
		m = w.submit("four")
		w.wants(m, core.Failed, "agent_timeout", "Claude did not start.")
		w.agent.script = nil
		w.works()
	})
}

// The start fails before the turn is frozen: the message is told when it is.
func TestStartFailsWhileFreezing(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"written": nil, "not written": core.ErrStorageFull} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				w.agent.startErr = &core.AgentError{Code: "agent_missing", Text: "Claude Code was not found."}
				w.ledger.setDown(refusal)
				w.ledger.hold()
				s := w.submitting("one")
				w.ledger.release()
				synctest.Wait()
				if refusal != nil {
					w.wantErr(s.err, refusal)
				} else {
					w.wants(s.ticket, core.Failed, "agent_missing", "Claude Code was not found.")
				}
				w.ledger.setDown(nil)
				w.agent.startErr = nil
				w.works()
			})
		})
	}
}

// The session ends while a turn for it is being frozen, and then the ledger
// refuses the turn, or takes it.
func TestSessionEndsWhileFreezing(t *testing.T) {
	t.Parallel()
	exits := map[string]core.Exit{
		"killed": {Text: "killed"}, "unknown session": {Reason: core.ExitUnknownSession, Text: "unknown"},
		"start failed": {Reason: core.ExitStartFailed, Code: "agent_timeout", Text: "late"},
	}
	for name, exit := range exits {
		for _, refusal := range []error{nil, core.ErrStorageFull} {
			playNow(t, Options{}, func(t *testing.T, w *world) {
				w.ledger.hold()
				s := w.submitting("one")
				w.host().exit(exit)
				w.after(time.Second)
				w.ledger.setDown(refusal)
				w.ledger.release()
				synctest.Wait()
				w.ledger.setDown(nil)
				switch {
				case refusal != nil:
					w.wantErr(s.err, refusal)
				case s.err != nil || s.ticket == nil:
					t.Fatalf("%s: %v", name, s.err)
				default:
					w.serve(s.ticket, "ok")
				}
				w.works()
			})
		}
	}
}

// The session dies while the turns of the one before are being looked up: what
// was found out then is of no use any more.
func TestSessionDiesDuringRecovery(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m := w.submit("never handed over")
		w.crash()
		w.host().turns = nil // the host never got it
		unblock := w.agent.block("fate")
		w.start()
		synctest.Wait()
		w.host().die() // while the fate is read
		synctest.Wait()
		w.agent.script = func(h *fakeHost) { h.begin(<-h.turn) }
		unblock()
		synctest.Wait()
		h, id := w.running()
		w.agent.script = nil
		h.finish(id, "ok")
		w.wantsNow(m.Message.ID, core.Answered, "", "ok")
		w.works()
	})
}

// The process ends while the gateway has nothing to do with it.
func TestIdleSessionEnds(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		h := w.works()
		h.exit(core.Exit{Text: "ended"})
		synctest.Wait()
		if h.alive() {
			t.Error("the host waits to be told that its end was noticed")
		}
		if got := w.works(); got == h || !got.launch.Resume {
			t.Errorf("next process was started as %+v", got.launch)
		}
	})
}

// A steered turn that was handed over and never begun runs again by itself; the
// turn it was meant for does not.
func TestSteeredTurnAfterDeath(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.tool(id)
		s := w.submit("two", mode(core.Steer))
		h.die()
		w.wants(m, core.Failed, core.CodeInterrupted, "")
		w.serve(s, "ok")
	})
}

// The agent dies when it is done with a turn without a result, and another is
// under way: that is noticed at once.
func TestDeathAfterATurnWithoutResult(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		s := w.submit("two", mode(core.Steer))
		_, steered := w.running()
		h.done(id)
		h.begin(steered)
		h.exit(core.Exit{Code: "agent_exit", Text: "Claude was killed."})
		began := time.Now()
		h, again := w.running()
		if again != id && again != steered {
			t.Errorf("turn %s runs, want one of %s and %s", again, id, steered)
		}
		h.answer(id, "1")
		h.answer(steered, "2")
		w.wants(m, core.Answered, "", "1")
		w.wants(s, core.Answered, "", "2")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("answered after %s", took)
		}
		w.works()
	})
}

// A new process hears again that a turn used a tool which has its outcome: that
// says nothing of the turn after it, begun or not, which was text only.
func TestToolOfTheTurnBefore(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]bool{"begun": true, "not begun": false} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				h.loseAcks(true)
				h.tool(id)
				h.finish(id, "1")
				w.wants(m, core.Answered, "", "1")
				second := w.submit("two")
				_, id = w.running()
				if begins {
					h.begin(id)
				}
				w.restart()
				h.loseAcks(false)
				h.exit(core.Exit{Code: "agent_exit", Text: "Claude was killed."})
				h, again := w.running()
				if again != id {
					t.Errorf("turn %s runs, want %s", again, id)
				}
				h.answer(id, "2")
				w.wantsNow(second.Message.ID, core.Answered, "", "2")
			})
		})
	}
}

func TestSessionsThatCannotBeResumed(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.agent.fleeting = true
		w.works()
		if ids := w.sessions.All(); len(ids) != 0 {
			t.Errorf("saved session ids: %v", ids)
		}
	})
}

// A message that was folded into a turn shares what the record says became of it.
func TestFoldedTurnSharesTheFateOnRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fate  core.Fate
		state core.State
		code  string
		text  string
	}{
		"answered":    {core.Fate{Begun: true, ToolBegun: true, Answered: true, Text: "both"}, core.Answered, "", "both"},
		"interrupted": {core.Fate{Begun: true, ToolBegun: true, Done: "Bash (x)"}, core.Failed, core.CodeInterrupted, "Bash (x)"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				h.tool(id)
				s := w.submit("also this", mode(core.Steer))
				_, steered := w.running()
				w.agent.fate(id, func(f *core.Fate) { *f = c.fate })
				w.agent.fate(steered, func(f *core.Fate) { *f = c.fate; f.Into = id })
				h.die()
				w.wants(m, c.state, c.code, c.text)
				if got := w.wants(s, c.state, c.code, ""); got.Reply.Text != "" || got.Reply.Into != m.Message.ID {
					t.Errorf("folded message: %+v", got.Reply)
				}
				w.works()
			})
		})
	}
}

// Messages that were joined and then cut before any tool run again, each by itself.
func TestJoinedTurnsRunAgain(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		s := w.submit("two", mode(core.Steer))
		_, steered := w.running()
		h.begin(steered)
		w.agent.fate(id, func(f *core.Fate) { f.Begun, f.Into = true, steered })
		w.agent.fate(steered, func(f *core.Fate) { f.Begun = true })
		h.die()
		h, _ = w.running()
		h.finish(id, "first")
		w.wants(m, core.Answered, "", "first")
		w.undecided(s)
		h.answer(steered, "second")
		w.wants(s, core.Answered, "", "second")
		w.works()
	})
}
