package security

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestSocketOfAHandOverIsOfThePredecessorAlone restarts a gateway that has a token and holds a request.
// The socket over which the process before sends that request on asks for no token: no other process
// is heard there, and it is gone with the process before.
func TestSocketOfAHandOverIsOfThePredecessorAlone(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	g := m.Start().Bearer()
	held := g.Hold(harness.Obj{"channel": "desk", "text": "wait " + m.Path("go")})
	m.Eventually("the turn runs", func() bool { return m.Begun("wait ") == 1 })
	g.Restart()

	sockets := m.Glob("run/handover-*.sock")
	if len(sockets) != 1 {
		t.Fatalf("while a request is held there are the sockets %q", sockets)
	}
	stranger := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", sockets[0])
	}}}
	t.Cleanup(stranger.CloseIdleConnections)
	for _, path := range []string{"/health", "/channels", "/approvals"} {
		if res, err := stranger.Get("http://localhost" + path); err == nil {
			t.Errorf("GET %s at the socket of the hand-over: %s", path, res.Status)
			_ = res.Body.Close()
		}
	}

	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	m.Eventually("the socket is gone with the process before", func() bool {
		_, err := os.Stat(sockets[0])
		return os.IsNotExist(err)
	})
	g.Say("desk", "echo on").Want(t, "on")
}
