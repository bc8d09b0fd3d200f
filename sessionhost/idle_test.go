package sessionhost

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// shortIdle is the idle timeout of these tests. None of them depends on how long it is.
const shortIdle = 50 * time.Millisecond

// finish gives claude a turn and acknowledges everything up to the end of it.
func (l *listener) finish(text string) {
	l.t.Helper()
	for id := l.hand(text); ; {
		ev, ok := l.next()
		if !ok {
			l.t.Fatal("the session ended")
		}
		if ev.Kind == core.TurnState && ev.Turn == id && ev.Phase == core.PhaseCompleted {
			l.Ack(ev.Seq)
			return
		}
	}
}

// awaitIdleEnd starts a session in another place that has nothing to do, leaves it, and
// returns when its claude has ended. Another session that was left earlier, and is idle
// too, has had the same time.
func (st *station) awaitIdleEnd() {
	st.t.Helper()
	other := newStation(st.t)
	other.o.IdleTimeout = shortIdle
	s := other.start()
	s.finish("echo idle")
	r := other.record()
	s.Detach()
	other.gone("the claude of an idle session", r.ClaudePID, r.ClaudeStart)
}

// TestIdleWithoutDaemon leaves a session whose daemon has taken everything: nothing of it
// remains after the idle timeout.
func TestIdleWithoutDaemon(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.o.IdleTimeout = shortIdle
	s := st.start()
	s.finish("echo hello")
	r := st.record()
	st.awaitIdleEnd()
	if !proc.Alive(r.ClaudePID, r.ClaudeStart) {
		t.Fatal("claude was ended although a daemon was there")
	}
	s.Detach()
	st.gone("claude", r.ClaudePID, r.ClaudeStart)
	st.gone("host", r.PID, r.Start)
	for _, file := range []string{st.paths().RecordPath, st.paths().Socket} {
		if _, err := os.Stat(file); !protocol.IsNotExist(err) {
			t.Errorf("%s is left: %v", file, err)
		}
	}
	if _, err := st.hosts().Attach(t.Context(), "c"); !errors.Is(err, core.ErrNoHost) {
		t.Errorf("attach after the end: %v, want ErrNoHost", err)
	}
}

// TestIdleBeforeTheFirstDaemon: a claude that is idle since its daemon takes long to connect is
// kept, however short the idle timeout is.
func TestIdleBeforeTheFirstDaemon(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.o.IdleTimeout = shortIdle
	h := st.hosts()
	b, err := h.o.bootstrap(h.o.place("c"), core.Launch{SessionID: newID(t)})
	check.OK(t, err)
	if least := 2 * h.o.ConnectTimeout; b.IdleTimeout < least {
		t.Errorf("an idle claude is kept for %v before the first daemon, want at least %v", b.IdleTimeout, least)
	}
}

// TestWorkingClaudeIsNotIdle leaves sessions that are at work, or wait for somebody, for
// longer than the idle timeout: they go on, and end once that is over. The next daemon
// gets each event once.
func TestWorkingClaudeIsNotIdle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		until core.EventKind // what the daemon hears before it goes
		goOn  func(st *station, s *listener)
	}{
		"turn":       {"wait FILE", core.TurnState, func(st *station, _ *listener) { st.touch("go") }},
		"permission": {"tool 0 ask for it", core.Requested, nil},
		"background": {"background 3600000 news", core.Resulted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStation(t)
			st.o.IdleTimeout = shortIdle
			s := st.start()
			s.hand(strings.ReplaceAll(c.text, "FILE", st.path("go")))
			seen := s.until(c.until)
			r := st.record()
			s.Detach()
			st.awaitIdleEnd()
			if !proc.Alive(r.ClaudePID, r.ClaudeStart) {
				t.Fatal("claude was ended at its work")
			}
			if c.goOn == nil {
				return
			}
			c.goOn(st, s)
			st.gone("claude", r.ClaudePID, r.ClaudeStart)
			if !proc.Alive(r.PID, r.Start) {
				t.Fatal("the host has not waited for a daemon to take the answer")
			}
			s = st.attach(2)
			all := s.until(core.Exited)
			inSequence(t, all, 1)
			if n := count(all, core.Resulted); n != 1 || len(all) <= len(seen) {
				t.Errorf("%d results in %d events, want one", n, len(all))
			}
			s.Ack(all[len(all)-1].Seq)
			st.gone("host", r.PID, r.Start)
		})
	}
}

// TestIdleTimeoutOfALaterDaemon has a later daemon greet the host with another timeout.
func TestIdleTimeoutOfALaterDaemon(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second time.Duration
		ends          bool
	}{
		"shorter": {0, shortIdle, true}, "for ever": {shortIdle, 0, false}, "of no daemon": {0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStation(t)
			st.o.IdleTimeout = c.first
			s := st.start()
			s.finish("echo hello")
			r := st.record()
			st.o.IdleTimeout = c.second
			s = st.attach(2)
			s.Detach()
			if c.ends {
				st.gone("claude", r.ClaudePID, r.ClaudeStart)
				return
			}
			st.awaitIdleEnd()
			if !proc.Alive(r.ClaudePID, r.ClaudeStart) {
				t.Error("claude was ended")
			}
		})
	}
}

// TestIdleSpare leaves a spare that no channel has taken: its host ends too.
func TestIdleSpare(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.o.IdleTimeout = shortIdle
	h, r := st.spare()
	h.LeaveSpares()
	st.gone("claude", r.ClaudePID, r.ClaudeStart)
	st.gone("host", r.PID, r.Start)
	if _, err := os.Stat(h.o.place(spareKey(1)).RecordPath); !protocol.IsNotExist(err) {
		t.Errorf("the record is left: %v", err)
	}
}

// TestTurnForAClosingClaude attaches a daemon while the idle claude ends, and hands it a
// turn: claude does not get it, so that it can be run again.
func TestTurnForAClosingClaude(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.o.IdleTimeout = shortIdle
	st.shell(`trap '' TERM; while read -r line; do echo "$line" >> "$HOME/read"; done; : > "$HOME/closed"; until [ -e "$HOME/go" ]; do sleep 0.05; done`)
	s := st.start()
	s.until(core.Readied) // and acknowledge nothing: the host stays
	s.Detach()
	st.eventually("claude's input is closed", func() bool { return st.exists("closed") })
	s = st.attach(2)
	s.hand("echo too late")
	st.touch("go")
	all := s.until(core.Exited)
	inSequence(t, all, 1)
	if st.exists("read") {
		t.Errorf("claude was given %s", st.read("read"))
	}
	if exit := all[len(all)-1].Exit; exit.Reason != core.ExitOther || !strings.Contains(exit.Text, "idle session was ended") {
		t.Errorf("claude ended as %+v", exit)
	}
}

// TestIdleAfterASubagent has a subagent in the background speak last, after the turn and
// with no news of it: claude is idle all the same.
func TestIdleAfterASubagent(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.o.IdleTimeout = shortIdle
	st.shell(`echo '{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]},"parent_tool_use_id":"toolu_1"}'; while read -r line; do :; done`)
	s := st.start()
	s.Ack(s.until(core.Readied)[0].Seq)
	for ev, ok := s.next(); ; ev, ok = s.next() {
		if !ok {
			t.Fatal("the session ended")
		}
		if s.Ack(ev.Seq); ev.Type == claude.TypeAssistant {
			break
		}
	}
	r := st.record()
	s.Detach()
	st.gone("claude", r.ClaudePID, r.ClaudeStart)
}
