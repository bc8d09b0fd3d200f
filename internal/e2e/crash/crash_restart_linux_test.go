package crash

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/lockfile"
)

// TestCrashAtEveryStepOfARestart kills a daemon at every step of a restart. Whoever
// started it starts another one, which must find the place free: the new process
// makes way, unless a service manager was told that it is the one.
func TestCrashAtEveryStepOfARestart(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	everyStep(t, func(n int) (killed bool) {
		m := harness.NewMachine(t)
		told := &harness.LockedBuffer{}
		if n%2 == 0 {
			read(m, listenForNotes(m), told)
		}
		g := m.Start()
		generation := g.Generation()
		tr := m.Trace(g.Cmd.Process.Pid, fmt.Sprintf("write,writev,sendmsg,sendto:signal=SIGKILL:when=%d", n))
		if err := g.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		m.Eventually("the restart is over", func() bool {
			a, err := g.Do("GET", "/health", nil)
			return harness.Closed(g.Done) || err == nil && a.Number("generation") > generation
		})
		tr.Detach()
		if killed = harness.Closed(g.Done); !killed {
			g.Kill()
			return false
		}
		m.Eventually("the new process makes way or is known", func() bool {
			return len(m.Processes()) == 0 || strings.Contains(told.String(), "MAINPID=")
		})
		if len(m.Processes()) == 0 {
			m.Start().Say("http", "echo hello").Want(t, "hello")
		}
		return true
	})
}

// TestServiceManagerIsNotTold kills the old process when the new one serves, and
// nobody but it could have told of that.
func TestServiceManagerIsNotTold(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	l := listenForNotes(m)
	g := m.Start()
	old := m.LockFile()
	fillNotes(m)
	b := make([]byte, 1<<12)
	for range 2 { // there is room for what comes before
		if _, err := l.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	m.Eventually("the new process takes over", func() bool {
		h, err := lockfile.ReadHolder(m.Path("state/" + lockfile.StateLockName))
		return err == nil && h.PID != old.PID
	})
	g.Signal(syscall.SIGKILL)
	told := &harness.LockedBuffer{}
	read(m, l, told)
	m.Eventually("the new process makes way", func() bool { return len(m.Processes()) == 0 })
	allRead(m, told)
	if s := told.String(); !strings.Contains(s, "RELOADING=1") || strings.Contains(s, "MAINPID=") {
		t.Errorf("told %q", s)
	}
}

// listenForNotes has the machine's gateways tell what they tell a service manager.
func listenForNotes(m *harness.Machine) *net.UnixConn {
	m.T.Helper()
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.Path("notify"), Net: "unixgram"})
	if err != nil {
		m.T.Fatal(err)
	}
	m.T.Cleanup(func() { _ = l.Close() })
	m.Set("NOTIFY_SOCKET=" + m.Path("notify"))
	return l
}

// fillNotes leaves no room for more of what they tell.
func fillNotes(m *harness.Machine) {
	m.T.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		m.T.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for err == nil {
		err = unix.Sendto(fd, []byte("X"), unix.MSG_DONTWAIT, &unix.SockaddrUnix{Name: m.Path("notify")})
	}
	if !errors.Is(err, unix.EAGAIN) {
		m.T.Fatal(err)
	}
}

// allRead waits until everything that was sent before has been read.
func allRead(m *harness.Machine, told *harness.LockedBuffer) {
	m.T.Helper()
	const last = "LAST=1"
	c, err := net.Dial("unixgram", m.Path("notify"))
	if err != nil {
		m.T.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte(last)); err != nil {
		m.T.Fatal(err)
	}
	m.Eventually("all notes are read", func() bool { return strings.Contains(told.String(), last) })
}

// read reads what they tell until the test ends.
func read(m *harness.Machine, l *net.UnixConn, told *harness.LockedBuffer) {
	done := make(chan struct{})
	go func() { // ends with the socket
		defer close(done)
		b := make([]byte, 1<<12)
		for {
			n, err := l.Read(b)
			if err != nil {
				return
			}
			_, _ = told.Write(append(b[:n:n], '\n'))
		}
	}()
	m.T.Cleanup(func() { _ = l.Close(); <-done })
}
