package roottest

import (
	"net"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
)

// Stranger is a user other than that of the tests.
const Stranger = 65534

// A Listener is another user's program that takes what it is sent, and answers with a text.
type Listener struct {
	net.Listener
	mu  sync.Mutex
	got []byte
}

// Got returns all that was sent so far.
func (l *Listener) Got() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.got)
}

// ListenAs has another user listen on an address until the test ends, and answer each connection.
func ListenAs(t testing.TB, uid int, network, address, answer string) *Listener {
	t.Helper()
	l := &Listener{}
	listening := make(chan error)
	go func() { // ends with the listener; its thread, which is the other user's, ends with it
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			listening <- errno
			return
		}
		var err error
		l.Listener, err = net.Listen(network, address)
		listening <- err
		for err == nil {
			var conn net.Conn
			if conn, err = l.Accept(); err == nil {
				go l.take(conn, answer) // ends with the connection
			}
		}
	}()
	if err := <-listening; err != nil {
		Unavailable(t, "another user's program: %v", err)
	}
	t.Cleanup(func() { check.OK(t, l.Close()) })
	return l
}

func (l *Listener) take(conn net.Conn, answer string) {
	defer func() { _ = conn.Close() }()
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		l.mu.Lock()
		l.got = append(l.got, buf[:n]...)
		l.mu.Unlock()
		if err != nil {
			return
		}
		if n > 0 {
			if _, err := conn.Write([]byte(answer)); err != nil {
				return
			}
		}
	}
}
