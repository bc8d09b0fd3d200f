package peercred

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/child"
)

// dialEnv makes the test binary the client of a test: it connects to
// "network address", says so and holds the connection until its stdin ends.
const dialEnv = "PEERCRED_TEST_DIAL"

func TestMain(m *testing.M) {
	if target := os.Getenv(dialEnv); target != "" {
		os.Exit(client(target))
	}
	os.Exit(m.Run())
}

func client(target string) int {
	var network, address string
	if _, err := fmt.Sscan(target, &network, &address); err != nil {
		return 1
	}
	conn, err := net.Dial(network, address)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = conn.Close()
	return 0
}

// start runs cmd, a client, until the test ends and returns once it has
// connected.
func start(t *testing.T, cmd *exec.Cmd, l net.Listener) {
	t.Helper()
	cmd.Env = append(os.Environ(), dialEnv+"="+l.Addr().Network()+" "+l.Addr().String())
	if line, _ := child.Start(t, cmd); line != "connected\n" {
		t.Fatalf("the client says %q", line)
	}
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn, err := l.Accept()
	check.OK(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestUnixUID(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pc") // t.TempDir is too long for a socket on macOS
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := listen(t, "unix", filepath.Join(dir, "s"))
	cmd := exec.Command(os.Args[0])
	start(t, cmd, l)
	conn := accept(t, l).(*net.UnixConn)
	if uid, err := UnixUID(conn); err != nil || uid != uint32(os.Getuid()) {
		t.Errorf("UnixUID = %d, %v, want uid %d", uid, err, os.Getuid())
	}
	if pid, err := UnixPID(conn); err != nil || pid != cmd.Process.Pid {
		t.Errorf("UnixPID = %d, %v, want %d", pid, err, cmd.Process.Pid)
	}
	if same, err := SameUser(conn); err != nil || same != conn {
		t.Errorf("SameUser = %v, %v, want the connection", same, err)
	}
	_ = conn.Close()
	if _, err := UnixUID(conn); err == nil {
		t.Error("a closed connection has a peer")
	}
	if _, err := SameUser(conn); err == nil {
		t.Error("the peer of a closed connection is the same user")
	}
	if _, err := SameUser(&net.TCPConn{}); err == nil {
		t.Error("the peer of a TCP connection is the same user")
	}
}

// TestMayBeSameUser has this process connect to itself over both kinds of sockets. A peer of which
// nothing can be known is not the user.
func TestMayBeSameUser(t *testing.T) {
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
		if !MayBeSameUser(accepted) {
			t.Errorf("over %s this process is another user", network)
		}
		check.OK(t, accepted.Close())
		if network == "unix" && MayBeSameUser(accepted) {
			t.Error("a closed socket is the user's")
		}
	}
	if a, _ := net.Pipe(); runtime.GOOS == "linux" && MayBeSameUser(a) {
		t.Error("a connection without addresses is the user's")
	}
}
