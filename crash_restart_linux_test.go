package main

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
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
			m.notify(told)
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

// notify has the machine's gateways tell what they tell a service manager.
func (m *machine) notify(told *lockedBuffer) {
	m.t.Helper()
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path("notify"), Net: "unixgram"})
	if err != nil {
		m.t.Fatal(err)
	}
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
	m.set("NOTIFY_SOCKET=" + m.path("notify"))
}
