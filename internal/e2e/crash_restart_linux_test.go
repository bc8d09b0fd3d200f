package e2e

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/lockfile"
)

// TestCrashAtEveryStepOfARestart kills a daemon at every step of a restart. Whoever
// started it starts another one, which must find the place free: the new process
// makes way, unless a service manager was told that it is the one.
func TestCrashAtEveryStepOfARestart(t *testing.T) {
	t.Parallel()
	needStrace(t)
	everyStep(t, func(n int) (killed bool) {
		m := newMachine(t)
		told := &lockedBuffer{}
		if n%2 == 0 {
			m.read(m.listenForNotes(), told)
		}
		g := m.start()
		generation := g.generation()
		tr := m.trace(g.cmd.Process.Pid, fmt.Sprintf("write,writev,sendmsg,sendto:signal=SIGKILL:when=%d", n))
		if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		m.eventually("the restart is over", func() bool {
			a, err := g.do("GET", "/health", nil)
			return closed(g.done) || err == nil && a.number("generation") > generation
		})
		tr.detach()
		if killed = closed(g.done); !killed {
			g.kill()
			return false
		}
		m.eventually("the new process makes way or is known", func() bool {
			return len(m.processes()) == 0 || strings.Contains(told.String(), "MAINPID=")
		})
		if len(m.processes()) == 0 {
			m.start().say("http", "echo hello").want(t, "hello")
		}
		return true
	})
}

// TestServiceManagerIsNotTold kills the old process when the new one serves, and
// nobody but it could have told of that.
func TestServiceManagerIsNotTold(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	l := m.listenForNotes()
	g := m.start()
	old := m.lockFile()
	m.fillNotes()
	b := make([]byte, 1<<12)
	for range 2 { // there is room for what comes before
		if _, err := l.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	m.eventually("the new process takes over", func() bool {
		h, err := lockfile.ReadHolder(m.path("state/" + lockfile.StateLockName))
		return err == nil && h.PID != old.PID
	})
	g.signal(syscall.SIGKILL)
	told := &lockedBuffer{}
	m.read(l, told)
	m.eventually("the new process makes way", func() bool { return len(m.processes()) == 0 })
	m.allRead(told)
	if s := told.String(); !strings.Contains(s, "RELOADING=1") || strings.Contains(s, "MAINPID=") {
		t.Errorf("told %q", s)
	}
}

// listenForNotes has the machine's gateways tell what they tell a service manager.
func (m *machine) listenForNotes() *net.UnixConn {
	m.t.Helper()
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path("notify"), Net: "unixgram"})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = l.Close() })
	m.set("NOTIFY_SOCKET=" + m.path("notify"))
	return l
}

// fillNotes leaves no room for more of what they tell.
func (m *machine) fillNotes() {
	m.t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for err == nil {
		err = unix.Sendto(fd, []byte("X"), unix.MSG_DONTWAIT, &unix.SockaddrUnix{Name: m.path("notify")})
	}
	if !errors.Is(err, unix.EAGAIN) {
		m.t.Fatal(err)
	}
}

// allRead waits until everything that was sent before has been read.
func (m *machine) allRead(told *lockedBuffer) {
	m.t.Helper()
	const last = "LAST=1"
	c, err := net.Dial("unixgram", m.path("notify"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte(last)); err != nil {
		m.t.Fatal(err)
	}
	m.eventually("all notes are read", func() bool { return strings.Contains(told.String(), last) })
}

// read reads what they tell until the test ends.
func (m *machine) read(l *net.UnixConn, told *lockedBuffer) {
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
	m.t.Cleanup(func() { _ = l.Close(); <-done })
}
