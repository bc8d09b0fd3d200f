package sessionhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
	"bareclaw/sessionhost/protocol"
)

// TestExitLingers has claude end: its host stays until a daemon has
// acknowledged that, and each daemon is told how it ended.
func TestExitLingers(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.hand("die 3")
	s.until(core.Exited)
	r := st.record()
	s.Detach()

	s = st.attach(2)
	all := s.until(core.Exited)
	inSequence(t, all, 1)
	end := all[len(all)-1]
	if end.Exit.Reason != core.ExitOther || end.Exit.Code != "agent_exit" || !strings.Contains(end.Exit.Text, "exit status 3") {
		t.Errorf("exit is %+v", end.Exit)
	}
	if !proc.Alive(r.PID, r.Start) {
		t.Error("the host is gone before its last event was acknowledged")
	}
	s.Ack(end.Seq)
	st.gone("host", r.PID, r.Start)
	if left := s.rest(); len(left) != 0 {
		t.Errorf("events after the exit: %+v", left)
	}
	if _, err := st.hosts().Attach(t.Context(), "c"); !errors.Is(err, core.ErrNoHost) {
		t.Errorf("attach after the end: %v, want ErrNoHost", err)
	}
	for _, file := range []string{st.paths().RecordPath, st.paths().Socket} {
		if _, err := os.Stat(file); !protocol.IsNotExist(err) {
			t.Errorf("%s is left: %v", file, err)
		}
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]core.StopMode{"gently": core.StopGently, "patiently": core.StopPatiently, "now": core.StopNow} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStation(t)
			s := st.start()
			s.until(core.Readied)
			r := st.record()
			if how == core.StopGently { // what runs may end
				s.hand("wait " + st.path("go"))
				s.until(core.TurnState)
				st.eventually("turn runs", func() bool { return st.begun() == 1 })
			}
			check.OK(t, s.Stop(how))
			st.touch("go")
			all := s.rest()
			st.gone("host", r.PID, r.Start)
			if proc.Alive(r.ClaudePID, r.ClaudeStart) {
				t.Error("claude is still there")
			}
			if n := count(all, core.Resulted); how == core.StopGently && n != 1 {
				t.Errorf("%d results of the turn that ran, want 1", n)
			}
			if n := count(all, core.Exited); n != 1 {
				t.Errorf("%d exits were told, want 1", n)
			}
		})
	}
}

// TestStopPatiently ends a claude that does not react: it gets its time.
func TestStopPatiently(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.until(core.Readied)
	r := st.record()
	st.signal(r.ClaudePID, r.ClaudeStart, syscall.SIGSTOP)
	asked := time.Now()
	check.OK(t, s.Stop(core.StopPatiently))
	s.rest()
	if took := time.Since(asked); took < 5*time.Second {
		t.Errorf("it had %s, want %s", took, 5*time.Second)
	}
	st.gone("host", r.PID, r.Start)
	if proc.Alive(r.ClaudePID, r.ClaudeStart) {
		t.Error("claude is still there")
	}
}

// TestHostThatNobodyCanFind loses its record when its claude has ended and no daemon
// is there: it does not wait for ever.
func TestHostThatNobodyCanFind(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.until(core.Readied)
	r := st.record()
	s.Detach()
	st.signal(r.ClaudePID, r.ClaudeStart, syscall.SIGKILL)
	st.gone("claude", r.ClaudePID, r.ClaudeStart)
	if !proc.Alive(r.PID, r.Start) {
		t.Fatal("it has not waited for a daemon")
	}
	check.OK(t, os.Remove(st.paths().RecordPath))
	st.gone("host", r.PID, r.Start)
}

// TestStopWithoutADaemon sends the host SIGTERM, as the end of the machine does.
func TestStopWithoutADaemon(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.hand("wait " + st.path("never"))
	s.until(core.TurnState)
	s.Detach()
	r := st.record()
	st.signal(r.PID, r.Start, syscall.SIGTERM)
	st.gone("host", r.PID, r.Start)
	if proc.Alive(r.ClaudePID, r.ClaudeStart) {
		t.Error("claude is still there")
	}
	if _, err := os.Stat(st.paths().RecordPath); !protocol.IsNotExist(err) {
		t.Errorf("the record is left: %v", err)
	}
}

// TestLockOutlivesClaude ends a claude that does not want to end: nobody else
// gets its session before it is gone.
func TestLockOutlivesClaude(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.shell(`trap 'echo > "$HOME/term"' TERM; while :; do sleep 0.05; done`)
	s := st.start()
	s.until(core.Readied)
	r := st.record()
	check.OK(t, s.Stop(core.StopNow))
	st.eventually("claude has been told", func() bool { return st.exists("term") })
	locked := 0
	st.eventually("the session is free", func() bool {
		lock, err := protocol.LockFile(st.paths().LockPath)
		if errors.Is(err, protocol.ErrLocked) {
			locked++
			return false
		}
		check.OK(t, err)
		defer func() { _ = lock.Close() }()
		if proc.Alive(r.ClaudePID, r.ClaudeStart) {
			t.Error("the session is free and claude still there")
		}
		return true
	})
	if locked == 0 {
		t.Error("the session was free at once")
	}
}

// TestHostDies kills a host, and has another panic: claude is told to end, and the daemon
// sees the end of the session without an exit. The stack of a panic is in the host's log.
func TestHostDies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signal syscall.Signal
		logged string
	}{"kill": {syscall.SIGKILL, ""}, "panic": {syscall.SIGUSR1, "panic: a test"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStation(t)
			s := st.start()
			s.hand("wait " + st.path("never"))
			s.until(core.TurnState)
			r := st.record()
			st.signal(r.PID, r.Start, c.signal)
			if n := count(s.rest(), core.Exited); n != 0 {
				t.Error("an exit was told")
			}
			st.gone("claude", r.ClaudePID, r.ClaudeStart)
			if !strings.Contains(st.read("journal"), `"event":"exit"`) {
				t.Errorf("claude was not told to end: %s", st.read("journal"))
			}
			if _, err := st.hosts().Attach(t.Context(), "c"); !errors.Is(err, core.ErrNoHost) {
				t.Errorf("attach: %v, want ErrNoHost", err)
			}
			if log, err := os.ReadFile(st.paths().LogPath); err != nil || !strings.Contains(string(log), c.logged) {
				t.Errorf("the host's log is %s (%v), want %q", log, err, c.logged)
			}
		})
	}
}

// TestHostStopped asks a host that does not answer: it is an error, and the next
// start replaces it.
func TestHostStopped(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.until(core.Readied)
	r := st.record()
	st.signal(r.PID, r.Start, syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if s, err := st.generation(2).Attach(ctx, "c"); err == nil {
		s.Detach()
		t.Error("a stopped host was attached")
	} else if errors.Is(err, core.ErrNoHost) {
		t.Errorf("a stopped host is said not to be there: %v", err)
	}
	st.start().answers("echo new", "new")
	if proc.Alive(r.PID, r.Start) || proc.Alive(r.ClaudePID, r.ClaudeStart) {
		t.Error("the stopped host or its claude is still there")
	}
}

// TestStoppedWhileStarting stops sessions as soon as they are there, from several
// channels at once, and leaves nothing.
func TestStoppedWhileStarting(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h := st.hosts()
	var wg sync.WaitGroup
	for i := range 8 {
		id := newID(t)
		wg.Go(func() {
			s, err := h.Start(t.Context(), core.ChannelKey(fmt.Sprint("channel ", i)), core.Launch{SessionID: id})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Stop(core.StopMode(i % 3)); err != nil {
				t.Error(err)
			}
			(&listener{Session: s, t: t}).rest()
		})
	}
	wg.Wait()
	st.eventually("all hosts are gone", func() bool {
		live, err := h.Live(t.Context())
		return err == nil && len(live) == 0
	})
}

// TestNotStartedByADaemon runs the subcommand by hand.
func TestNotStartedByADaemon(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	out, err := runSelf(st.o.Self)
	if err == nil || !strings.Contains(out, "started by the daemon only") {
		t.Errorf("it says %q (%v)", out, err)
	}
}

// lateScript runs a host once the file GO is there.
const lateScript = `#!/bin/sh
: > "$HERE"
until [ -e "$GO" ]; do sleep 0.05; done
exec "$SELF" "$@"
`

func writeLate(dir string) error {
	return executable.Write(filepath.Join(dir, "late"), []byte(lateScript))
}

// startLate has hosts wait for the file "go" when they have made the file "here".
func (st *station) startLate() {
	st.o.Env = append(st.o.Env, "SELF="+st.o.Self, "HERE="+st.path("here"), "GO="+st.path("go"))
	st.o.Self = filepath.Join(built.dir, "late")
}

// TestStartOutlivesItsContext ends the context while the host starts: the session
// is there all the same, and is found. Were it not, nobody would know of the host.
func TestStartOutlivesItsContext(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.startLate()
	h := st.hosts()
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error, 1)
	go func() { // ends when the host has answered
		s, err := h.Start(ctx, "c", core.Launch{SessionID: newID(t)})
		if err == nil {
			s.Detach()
		}
		started <- err
	}()
	st.eventually("the host is there", func() bool { return st.exists("here") })
	cancel()
	st.touch("go")
	if err := <-started; err != nil {
		t.Errorf("start: %v", err)
	}
	if live, err := h.Live(t.Context()); err != nil || len(live) != 1 {
		t.Errorf("hosts that live: %q, %v", live, err)
	}
}

// TestHostThatAnswersLate has a host answer only after the daemon has waited once in vain:
// the session is used all the same, and its turn goes on.
func TestHostThatAnswersLate(t *testing.T) {
	t.Parallel()
	// late returns the hosts of a daemon that loses its patience at once, and then has all
	// of it, while resume lets the host go on.
	late := func(st *station, resume func()) *Hosts {
		var h *Hosts
		st.o.Generation, st.o.ConnectTimeout = 2, 50*time.Millisecond
		st.o.Log = slog.New(onMessage{slog.DiscardHandler, "session host does not answer yet", func() {
			h.o.ConnectTimeout = patience
			resume()
		}})
		h = st.hosts()
		return h
	}
	t.Run("attached", func(t *testing.T) {
		t.Parallel()
		st := newStation(t)
		s := st.start()
		id := s.hand("wait " + st.path("go"))
		s.until(core.TurnState)
		s.Detach()
		r := st.record()
		st.signal(r.PID, r.Start, syscall.SIGSTOP)
		h := late(st, func() { _ = proc.Signal(r.PID, r.Start, syscall.SIGCONT) })
		again, err := h.Attach(t.Context(), "c")
		check.OK(t, err)
		s = st.listen(again)
		st.touch("go")
		if all := s.until(core.Resulted); !slices.Contains(all[len(all)-1].Result.Turns, id) {
			t.Error("the turn was not answered")
		}
	})
	t.Run("starting", func(t *testing.T) {
		t.Parallel()
		st := newStation(t)
		st.startLate()
		h := late(st, func() { st.touch("go") })
		s, err := h.Start(t.Context(), "c", core.Launch{SessionID: newID(t)})
		check.OK(t, err)
		st.listen(s).answers("echo hello", "hello")
	})
}

// refusesVariable makes the test binary a host that refuses every daemon, and stays.
const refusesVariable = "BARECLAW_TEST_REFUSES"

func refuseAll() {
	l, err := net.FileListener(os.NewFile(protocol.FDListener, "listener"))
	for err == nil {
		var c net.Conn
		if c, err = l.Accept(); err == nil {
			_, err = io.WriteString(c, `{"type":"refused","error":"no"}`+"\n")
		}
	}
	time.Sleep(10 * patience)
}

// TestHostThatRefuses starts hosts that are of no use: none of them is left.
func TestHostThatRefuses(t *testing.T) {
	t.Parallel()
	st := newStation(t, refusesVariable+"=1")
	if s, err := st.hosts().Start(t.Context(), "c", core.Launch{SessionID: newID(t)}); err == nil {
		s.Detach()
		t.Fatal("it was started")
	}
	st.eventually("its lock is free", func() bool {
		lock, err := protocol.LockFile(st.paths().LockPath)
		if err == nil {
			_ = lock.Close()
		}
		return err == nil
	})
}
