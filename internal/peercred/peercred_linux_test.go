package peercred

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
	"bareclaw/internal/testkit/roottest"
)

// nobody is a user id other than that of whoever runs the tests.
const nobody = 65534

// copyOfTest is the test binary where any user may run it.
func copyOfTest(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pc")
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary, err := os.ReadFile("/proc/self/exe")
	check.OK(t, err)
	file := filepath.Join(dir, "client")
	// Open to all, because another user is to run it.
	check.OK(t, errors.Join(os.Chmod(dir, 0o755), executable.Write(file, binary)))
	return file
}

// wantUID fails unless the peer of a connection is that user.
func wantUID(t *testing.T, conn net.Conn, want uint32) {
	t.Helper()
	if uid, ok, err := TCPUID(conn.LocalAddr(), conn.RemoteAddr()); err != nil || !ok || uid != want {
		t.Errorf("TCPUID = %d, %t, %v, want %d", uid, ok, err, want)
	}
}

func TestTCPUIDOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		roottest.Unavailable(t, "only root can start a process of another user")
	}
	l := listen(t, "tcp", "127.0.0.1:0")
	cmd := exec.Command(copyOfTest(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	start(t, cmd, l)
	conn := accept(t, l)
	wantUID(t, conn, nobody)
}

func TestTCPUIDFamilies(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, network, listen, dial string }{
		{"IPv4", "tcp", "127.0.0.1:0", "127.0.0.1"},
		{"IPv6", "tcp", "[::1]:0", "::1"},
		{"IPv4 to a socket for both", "tcp", "[::]:0", "127.0.0.1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen(row.network, row.listen)
			if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
				t.Skipf("no IPv6 here: %v", err)
			}
			check.OK(t, err)
			defer func() { _ = l.Close() }()
			_, port, err := net.SplitHostPort(l.Addr().String())
			check.OK(t, err)
			client, err := net.Dial("tcp", net.JoinHostPort(row.dial, port))
			check.OK(t, err)
			defer func() { _ = client.Close() }()
			conn := accept(t, l)
			wantUID(t, conn, uint32(os.Getuid()))
		})
	}
}

// TestTCPUIDOfMappedClient has a peer whose own socket is an IPv6 one that is
// connected to a mapped IPv4 address.
func TestTCPUIDOfMappedClient(t *testing.T) {
	t.Parallel()
	l := listen(t, "tcp4", "127.0.0.1:0")
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	to := netip.MustParseAddr("::ffff:127.0.0.1").As16()
	check.OK(t, unix.Connect(fd, &unix.SockaddrInet6{Port: l.Addr().(*net.TCPAddr).Port, Addr: to}))
	conn := accept(t, l)
	wantUID(t, conn, uint32(os.Getuid()))
}

// TestTCPUIDOfClosedPeer: the kernel calls a closed socket root's. A stranger
// who sends a request and closes at once must not pass for root.
func TestTCPUIDOfClosedPeer(t *testing.T) {
	t.Parallel()
	l := listen(t, "tcp", "127.0.0.1:0")
	client, err := net.Dial("tcp", l.Addr().String())
	check.OK(t, err)
	conn := accept(t, l)

	// Half closed is not closed: nc -N and others end their request so.
	check.OK(t, client.(*net.TCPConn).CloseWrite())
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	wantUID(t, conn, uint32(os.Getuid()))
	check.OK(t, client.Close())
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		uid, ok, err := TCPUID(conn.LocalAddr(), conn.RemoteAddr())
		if errors.Is(err, ErrUnknownPeer) && !ok {
			return
		}
		// A child that another test starts has all sockets for a moment.
		if err != nil || uid != uint32(os.Getuid()) || time.Now().After(deadline) {
			t.Fatalf("closed: TCPUID = %d, %t, %v, want %v", uid, ok, err, ErrUnknownPeer)
		}
	}
}

// TestTCPUIDOfNobody: with no connected socket there the kernel would offer a
// listening one at the same address.
func TestTCPUIDOfNobody(t *testing.T) {
	t.Parallel()
	l := listen(t, "tcp", "127.0.0.1:0")
	addr := func(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }
	for name, remote := range map[string]net.Addr{"listener": l.Addr(), "foreign": addr("192.0.2.1:1"), "loopback": addr("127.0.0.1:1")} {
		if uid, ok, err := TCPUID(addr("127.0.0.1:9"), remote); !errors.Is(err, ErrUnknownPeer) || ok {
			t.Errorf("%s: TCPUID = %d, %t, %v, want %v", name, uid, ok, err, ErrUnknownPeer)
		}
	}
}

func TestTCPUIDRefusesOddAddresses(t *testing.T) {
	t.Parallel()
	good := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	odd := map[string]net.Addr{
		"nil":          nil,
		"nil pointer":  (*net.TCPAddr)(nil),
		"no IP":        &net.TCPAddr{Port: 1},
		"unix":         &net.UnixAddr{Name: "/x", Net: "unix"},
		"other family": &net.TCPAddr{IP: net.IPv6loopback, Port: 1},
		"link-local":   &net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 1, Zone: "eth0"},
	}
	for name, addr := range odd {
		if _, ok, err := TCPUID(good, addr); err == nil || ok {
			t.Errorf("%s: no error", name)
		}
	}
}

// asked is the id of the socket that the answers below are about.
func asked() (id sockID) {
	id.SrcPort, id.DstPort = [2]byte{18, 103}, [2]byte{11, 184}
	return id
}

// testReply is the kernel's answer for a socket, made by hand.
func testReply(id sockID, state byte, uid, inode uint32) []byte {
	return testAnswer(unix.SOCK_DIAG_BY_FAMILY, diagMessage{Family: unix.AF_INET, State: state, ID: id, UID: uid, Inode: inode})
}

func testAnswer(kind uint16, body any) []byte {
	header := unix.NlMsghdr{Len: uint32(unix.SizeofNlMsghdr + binary.Size(body)), Type: kind}
	b, _ := binary.Append(nil, binary.NativeEndian, header)
	b, _ = binary.Append(b, binary.NativeEndian, body)
	return b
}

func testError(errno unix.Errno) []byte { return testAnswer(unix.NLMSG_ERROR, -int32(errno)) }

const established = 1

func TestParseReply(t *testing.T) {
	t.Parallel()
	good := testReply(asked(), established, 1000, 7)
	if uid, err := parseReply(good, asked()); err != nil || uid != 1000 {
		t.Errorf("parseReply = %d, %v, want 1000", uid, err)
	}
	other := sockID{SrcPort: asked().DstPort, DstPort: asked().SrcPort}
	rows := map[string][]byte{
		"no inode":      testReply(asked(), established, 0, 0),
		"listening":     testReply(asked(), tcpListen, 0, 7),
		"other ports":   testReply(other, established, 0, 7),
		"no such entry": testError(unix.ENOENT),
	}
	for name, reply := range rows {
		if _, err := parseReply(reply, asked()); !errors.Is(err, ErrUnknownPeer) {
			t.Errorf("%s: %v, want %v", name, err, ErrUnknownPeer)
		}
	}
	if _, err := parseReply(testError(unix.EPERM), asked()); !errors.Is(err, unix.EPERM) {
		t.Errorf("refused: %v, want %v", err, unix.EPERM)
	}
	for n := range good {
		shorter := slices.Clone(good)
		binary.NativeEndian.PutUint32(shorter, uint32(n))
		for _, cut := range [][]byte{good[:n], shorter} {
			if _, err := parseReply(cut, asked()); err == nil {
				t.Errorf("cut to %d of %d bytes it is taken for an answer", n, len(good))
			}
		}
	}
}

func FuzzParseReply(f *testing.F) {
	f.Add(testReply(asked(), established, 1000, 7))
	f.Add(testReply(asked(), tcpListen, 1000, 7))
	f.Add(testError(unix.ENOENT))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, reply []byte) {
		uid, err := parseReply(reply, asked())
		if err != nil && uid != 0 {
			t.Errorf("uid %d with error %v", uid, err)
		}
		if err == nil && len(reply) < unix.SizeofNlMsghdr+binary.Size(diagMessage{}) {
			t.Errorf("%d bytes are taken for an answer", len(reply))
		}
	})
}
