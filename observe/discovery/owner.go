package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"bareclaw/internal/peercred"
	"bareclaw/internal/wait"
)

// acceptTime is how long a program may take to accept a connection. Until then the connection is nobody's.
const acceptTime = 500 * time.Millisecond

// checkOwner returns an error if a program of another user serves a port of this machine, or one that nobody knows. No error
// means that it is of this user, that nothing listens there, or that the system does not tell whose a connection is.
func checkOwner(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, acceptTime)
	defer cancel()
	conn, err := dialLocal(ctx, port)
	if err != nil {
		return nil // nothing listens: that it does not answer is told
	}
	defer func() { _ = conn.Close() }()
	var uid uint32
	var known bool
	err = wait.Poll(ctx, time.Millisecond, func() (bool, error) {
		var err error
		uid, known, err = peercred.TCPUID(conn.LocalAddr(), conn.RemoteAddr())
		if errors.Is(err, peercred.ErrUnknownPeer) {
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return fmt.Errorf("nobody knows whose program has port %d: %w", port, err)
	case known && int64(uid) != int64(os.Getuid()):
		return fmt.Errorf("a program of another user has port %d", port)
	}
	return nil
}

// dialLocal connects to a port, by IPv4 first as clients of the API do.
func dialLocal(ctx context.Context, port int) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		return conn, nil
	}
	return dialer.DialContext(ctx, "tcp", net.JoinHostPort("::1", strconv.Itoa(port)))
}
