// Package peercred tells which user is at the other end of a local connection,
// by asking the kernel: no secret passes between the two.
//
// The answers are as good as the kernel's and hold for the moment of the call.
// A caller that gets an error does not know the peer and must not trust it.
package peercred

import (
	"errors"
	"fmt"
	"net"
)

// ErrUnknownPeer is in the error of [TCPUID] when the kernel knows no open
// socket at the other end: it has been closed, or it is on another machine or
// in another network namespace.
var ErrUnknownPeer = errors.New("no open socket of this machine is at the other end")

// UnixUID returns the user and the process at the other end of a Unix socket,
// as they were when that end connected or listened. The pid is 0 where the
// process is outside our pid namespace. It does not block.
func UnixUID(c *net.UnixConn) (uid uint32, pid int32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, fmt.Errorf("peer of unix socket: %w", err)
	}
	ctlErr := raw.Control(func(fd uintptr) { uid, pid, err = unixPeer(int(fd)) })
	if err := errors.Join(ctlErr, err); err != nil {
		return 0, 0, fmt.Errorf("peer of unix socket: %w", err)
	}
	return uid, pid, nil
}

// TCPUID returns the user whose socket is at the other end of a TCP connection
// within this machine, given the addresses of our end: its own and the one it
// sees as its peer's.
//
// Where the system has no way to ask (anything but Linux), ok is false and err
// is nil. Otherwise ok is true, or err says why the peer is not known; that is
// [ErrUnknownPeer] if it has closed its socket. On Linux it takes some 10 µs
// and blocks for at most a second.
func TCPUID(local, remote net.Addr) (uid uint32, ok bool, err error) {
	uid, ok, err = tcpPeer(local, remote)
	if err != nil {
		return 0, false, fmt.Errorf("peer of tcp connection: %w", err)
	}
	return uid, ok, nil
}
