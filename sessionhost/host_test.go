package sessionhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

func TestStartHandAnswer(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	if got := s.answer("echo hello"); got != "hello" {
		t.Errorf("answer is %q", got)
	}
	info, r := s.Info(), st.record()
	if info.HostPID != r.PID || r.ClaudePID == 0 || r.Channel != "c" {
		t.Errorf("the host says %+v and its record %+v", info, r)
	}
	for _, file := range []string{st.paths().RecordPath, st.paths().LockPath, st.paths().Socket, st.paths().LogPath} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if dir, err := os.Stat(st.o.RuntimeDir); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the sockets has mode %v (%v)", dir.Mode(), err)
	}
}

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
			if err := s.Stop(how); err != nil {
				t.Fatal(err)
			}
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
	if err := proc.Signal(r.ClaudePID, r.ClaudeStart, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitStopped(st, r.ClaudePID) // until then it reads that its input is closed, and ends by itself
	asked := time.Now()
	if err := s.Stop(core.StopPatiently); err != nil {
		t.Fatal(err)
	}
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
	if err := proc.Signal(r.ClaudePID, r.ClaudeStart, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	st.gone("claude", r.ClaudePID, r.ClaudeStart)
	if !proc.Alive(r.PID, r.Start) {
		t.Fatal("it has not waited for a daemon")
	}
	if err := os.Remove(st.paths().RecordPath); err != nil {
		t.Fatal(err)
	}
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
	if err := proc.Signal(r.PID, r.Start, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
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
	st.shell(`trap 'echo > "$HOME/term"' TERM; while :; do sleep 0.01; done`)
	s := st.start()
	s.until(core.Readied)
	r := st.record()
	if err := s.Stop(core.StopNow); err != nil {
		t.Fatal(err)
	}
	st.eventually("claude has been told", func() bool { return st.exists("term") })
	locked := 0
	st.eventually("the session is free", func() bool {
		lock, err := protocol.LockFile(st.paths().LockPath)
		if errors.Is(err, protocol.ErrLocked) {
			locked++
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
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

// TestStartEndsWhatWasThere starts a session on a channel whose host still works.
func TestStartEndsWhatWasThere(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	old := st.start()
	old.until(core.Readied)
	old.Detach()
	r := st.record()
	s := st.start()
	if proc.Alive(r.PID, r.Start) || proc.Alive(r.ClaudePID, r.ClaudeStart) {
		t.Error("the old host or its claude is still there")
	}
	if got := s.answer("echo new"); got != "new" {
		t.Errorf("answer is %q", got)
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
			if err := proc.Signal(r.PID, r.Start, c.signal); err != nil {
				t.Fatal(err)
			}
			if n := count(s.rest(), core.Exited); n != 0 {
				t.Error("an exit was told")
			}
			st.gone("claude", r.ClaudePID, r.ClaudeStart)
			b, err := os.ReadFile(st.path("journal"))
			if err != nil || !strings.Contains(string(b), `"event":"exit"`) {
				t.Errorf("claude was not told to end (%v): %s", err, b)
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
	if err := proc.Signal(r.PID, r.Start, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitStopped(st, r.PID)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if s, err := st.generation(2).Attach(ctx, "c"); err == nil {
		s.Detach()
		t.Error("a stopped host was attached")
	} else if errors.Is(err, core.ErrNoHost) {
		t.Errorf("a stopped host is said not to be there: %v", err)
	}
	if got := st.start().answer("echo new"); got != "new" {
		t.Errorf("answer is %q", got)
	}
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

// TestNoClaude starts a host for a program that cannot be run.
func TestNoClaude(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.o.Program = func() ([]string, error) { return []string{st.path("none")}, nil }
	s := st.start()
	all := s.until(core.Exited)
	if e := all[0].Exit; len(all) != 1 || e.Reason != core.ExitStartFailed || e.Code != "agent_missing" {
		t.Errorf("events are %+v", all)
	}
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
