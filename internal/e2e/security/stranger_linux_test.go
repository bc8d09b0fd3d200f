package security

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// commandsWithToken send the token over TCP.
var commandsWithToken = [][]string{
	{"approvals", "allow", "abcd"}, {"channels", "set", "desk", "--model", "haiku"},
	{"schedule", "add", "desk", "hello", "--in", "1h", "--precheck", "true"},
}

// TestTokenAfterTheGateway: another user listens on the port of a gateway that is down.
func TestTokenAfterTheGateway(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	stranger := roottest.ListenAs(t, roottest.Stranger, "tcp", "127.0.0.1:0", answer)
	_, port, _ := net.SplitHostPort(stranger.Addr().String())
	m := harness.NewMachine(t, "BARECLAW_PORT="+port, "BARECLAW_HTTP_TOKEN="+usersToken)
	for _, args := range commandsWithToken {
		m.Command(exitcode.Failed, args...).Tells("belongs to another user")
		if got := stranger.Got(); got != "" {
			t.Errorf("%v: another user got %q", args, got)
		}
	}
}

// TestStrangersAtASocket has another user try the Unix sockets of a gateway, whose directory and modes
// are left open as a careless administrator might: the gateway looks whose the other end is.
func TestStrangersAtASocket(t *testing.T) {
	if os.Getuid() != 0 {
		roottest.Unavailable(t, "a caller of another user: only root can start one")
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		roottest.Unavailable(t, "a caller of another user: %v", err)
	}
	for name, settings := range map[string][]string{"no token": nil, "a token": {"BARECLAW_HTTP_TOKEN=" + harness.Token}} {
		t.Run(name, func(t *testing.T) {
			m, g := harness.Started(t, settings...)
			g.OverSocket().Say("own", "echo served").Want(t, "served") // a host's socket is there
			check.OK(t, os.Chmod(m.Dir, 0o755))
			check.OK(t, os.Chmod(m.Path("run"), 0o755))
			sockets := m.Glob("run/*.sock")
			for _, socket := range sockets {
				check.OK(t, os.Chmod(socket, 0o777))
				cmd := exec.Command(curl, "-sS", "-m", "10", "-w", "%{http_code}", "-H", "Content-Type: application/json", "-d", `{"text":"echo attacked"}`,
					"--unix-socket", socket, "http://localhost/message")
				cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: roottest.Stranger, Gid: roottest.Stranger}}
				out, err := cmd.CombinedOutput()
				if says := string(out); socket == g.Sock && !strings.HasSuffix(says, "403") || socket != g.Sock && err == nil {
					t.Errorf("another user gets at %s: %s (%v)", socket, says, err)
				}
			}
			if len(sockets) == 0 || m.Begun("attacked") != 0 {
				t.Errorf("at the sockets %q another user was heard %d times", sockets, m.Begun("attacked"))
			}
		})
	}
}

// TestTokenToAnUnknownProgram: no gateway is on record, and the kernel does not know who is at the
// other end of an address that is not loopback: here a connection that nobody has accepted, as it
// were another machine's.
func TestTokenToAnUnknownProgram(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", net.JoinHostPort(outerAddress(t), "0"))
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	host, port, _ := net.SplitHostPort(l.Addr().String())
	m := harness.NewMachine(t, "BARECLAW_HOST="+host, "BARECLAW_PORT="+port, "BARECLAW_HTTP_TOKEN="+usersToken)
	for _, args := range commandsWithToken {
		m.Command(exitcode.Unreachable, args...).Tells("no gateway has run here yet")
		check.OK(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(harness.Patience)))
		conn, err := l.Accept()
		check.OK(t, err)
		if got, err := io.ReadAll(conn); len(got) > 0 || err != nil {
			t.Errorf("%v: an unknown program got %q, %v", args, got, err)
		}
		check.OK(t, conn.Close())
	}
}

// outerAddress returns an address of this machine that is not loopback.
func outerAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	check.OK(t, err)
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("NOT TESTED: an unknown program: this machine has only loopback addresses")
	return ""
}
