//go:build unix && !linux

package host

import "net"

// A socket is the host's end of the connection to a daemon.
type socket struct{ *net.UnixConn }

func newSocket(c *net.UnixConn) (*socket, error) { return &socket{c}, nil }
