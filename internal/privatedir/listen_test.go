package privatedir

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestListen: only the user can connect, a socket that is left is replaced, and a directory that has
// something in it is not.
func TestListen(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s") // a short path
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, os.RemoveAll(dir)) })
	socket := filepath.Join(dir, "s.sock")
	for range 2 {
		l, err := Listen(socket)
		check.OK(t, err)
		info, err := os.Stat(socket)
		check.OK(t, err)
		if info.Mode() != 0o600|os.ModeSocket {
			t.Errorf("the socket has mode %v", info.Mode())
		}
		c, err := net.Dial("unix", socket)
		check.OK(t, err)
		check.OK(t, c.Close())
		l.SetUnlinkOnClose(false)
		check.OK(t, l.Close())
	}
	if _, err := Listen(filepath.Join(dir, "missing", "s.sock")); err == nil {
		t.Error("a socket in no directory")
	}
	check.OK(t, os.MkdirAll(filepath.Join(dir, "full", "file"), 0o700))
	if _, err := Listen(filepath.Join(dir, "full")); err == nil || !strings.Contains(err.Error(), "remove the old socket") {
		t.Errorf("in the place of a directory: %v", err)
	}
}
