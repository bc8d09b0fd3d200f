package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/lockfile"
	"bareclaw/internal/peercred"
	"bareclaw/internal/wait"
)

// A dialer makes the connections of a client. Whose program is at the other end is looked at
// before anything is sent: whoever listens in the place of a gateway that is down would get the
// token, and what is said.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// A distrustError says why nothing was sent on a connection.
type distrustError struct{ error }

func (e *distrustError) Unwrap() error { return e.error }

func distrust(format string, args ...any) error { return &distrustError{fmt.Errorf(format, args...)} }

func unixDialer(path string) dialer {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		if _, err := peercred.SameUser(conn); err != nil {
			_ = conn.Close()
			return nil, distrust("nothing was sent to the socket %s: %w; run this as the user who runs the gateway", path, err)
		}
		return conn, nil
	}
}

// A trust decides whether a client may send to whoever listens at an address.
type trust struct {
	live     bool   // a gateway that runs is known to listen there
	stateDir string // of the gateway; empty if unknown
	refusal  error  // why nothing is sent to any program there; nil if something may be
}

func (t trust) client(address, token string) *Client {
	return over(t.dial, address, token, "at "+address)
}

func (t trust) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if t.refusal != nil {
		return nil, &distrustError{t.refusal}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := t.look(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// acceptLimit is how long a listening program may take to accept a connection. Until then the
// connection is nobody's.
const acceptLimit = 10 * time.Second

// look returns an error unless something may be sent on the connection: to a program of this user,
// or, where the system does not tell whose it is, to the address of a gateway that runs.
func (t trust) look(ctx context.Context, conn net.Conn) error {
	remote, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	here := isTCP && remote.IP.IsLoopback()
	var uid uint32
	var known bool
	limited, cancel := context.WithTimeoutCause(ctx, acceptLimit, errors.New("it does not accept connections"))
	defer cancel()
	err := wait.Poll(limited, time.Millisecond, func() (bool, error) {
		var err error
		uid, known, err = peercred.TCPUID(conn.LocalAddr(), conn.RemoteAddr())
		if !here || !errors.Is(err, peercred.ErrUnknownPeer) {
			return true, nil
		}
		return false, closedByPeer(conn)
	})
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET):
		return err // an ending gateway, which has taken nothing
	case err != nil:
		return distrust("nothing was sent to %s, since nobody knows whose program that is: %w", remote, err)
	case known && !t.isOurs(uid):
		return distrust("nothing was sent to %s, since the program there belongs to another user (uid %d): is the gateway down? "+
			"End that program, or set BARECLAW_PORT to another port", remote, uid)
	case !known && !t.live:
		return distrust("%w: none is on record that runs, and nothing was sent to whoever listens at %s", ErrUnreachable, remote)
	}
	return nil
}

// closedByPeer returns io.EOF, or what has ended the connection, if the other end has; it takes
// nothing of what was received.
func closedByPeer(conn net.Conn) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var n int
	var errPeek error
	if err := raw.Control(func(fd uintptr) {
		n, _, errPeek = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	}); err != nil {
		return err
	}
	switch {
	case errors.Is(errPeek, unix.EAGAIN), errors.Is(errPeek, unix.EINTR), errPeek == nil && n > 0:
		return nil
	case errPeek == nil:
		return io.EOF
	}
	return errPeek
}

// isOurs reports whether a user is that of this process. Root may also command the gateway of
// the user to whom the state directory belongs.
func (t trust) isOurs(uid uint32) bool {
	if self := os.Getuid(); self != 0 || uid == 0 {
		return int64(uid) == int64(self)
	}
	info, err := os.Stat(filepath.Join(t.stateDir, lockfile.StateLockName))
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && owner.Uid == uid
}
