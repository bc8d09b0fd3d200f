package security

import (
	"net"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/roottest"
)

// TestTokenAfterTheGateway: another user listens on the port of a gateway that is down.
func TestTokenAfterTheGateway(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	stranger := roottest.ListenAs(t, roottest.Stranger, "tcp", "127.0.0.1:0", answer)
	_, port, _ := net.SplitHostPort(stranger.Addr().String())
	m := harness.NewMachine(t, "BARECLAW_PORT="+port, "BARECLAW_HTTP_TOKEN="+usersToken)
	for _, args := range [][]string{
		{"approvals", "allow", "abcd"}, {"channels", "set", "desk", "--model", "haiku"},
		{"schedule", "add", "desk", "hello", "--in", "1h", "--precheck", "true"},
	} {
		m.Command(exitcode.Failed, args...).Tells("belongs to another user")
		if got := stranger.Got(); got != "" {
			t.Errorf("%v: another user got %q", args, got)
		}
	}
}
