package harness

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"

	"bareclaw/internal/testkit/check"
)

var givenPorts sync.Map // by port

// FreePort returns a port that nobody uses, that no other test is given, and that none
// of those who ask the system for any gets.
func FreePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		if _, given := givenPorts.LoadOrStore(port, true); given {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// TakenPort returns a port on which this process listens.
func TakenPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
