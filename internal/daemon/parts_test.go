package daemon

import (
	"net"
	"path/filepath"
	"runtime"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestSamePeer has this process connect to itself over both kinds of sockets. A peer of which
// nothing can be known is not the user.
func TestSamePeer(t *testing.T) {
	t.Parallel()
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		l, err := net.Listen(network, address)
		check.OK(t, err)
		defer func() { check.OK(t, l.Close()) }()
		dialed, err := net.Dial(network, l.Addr().String())
		check.OK(t, err)
		defer func() { check.OK(t, dialed.Close()) }()
		accepted, err := l.Accept()
		check.OK(t, err)
		if !samePeer(accepted) {
			t.Errorf("over %s this process is another user", network)
		}
		check.OK(t, accepted.Close())
		if network == "unix" && samePeer(accepted) {
			t.Error("a closed socket is the user's")
		}
	}
	if a, _ := net.Pipe(); runtime.GOOS == "linux" && samePeer(a) {
		t.Error("a connection without addresses is the user's")
	}
}
