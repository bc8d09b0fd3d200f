package pipe

import (
	"fmt"
	"net"
	"os"

	"bareclaw/internal/peercred"
)

// sameUser returns the connection if the other end is a process of this user.
func sameUser(c net.Conn) (*net.UnixConn, error) {
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("peer of %T has no credentials", c)
	}
	uid, err := peercred.UnixUID(conn)
	if err != nil {
		return nil, fmt.Errorf("ask for the peer's credentials: %w", err)
	}
	if int(uid) != os.Getuid() {
		return nil, fmt.Errorf("peer has uid %d, want %d", uid, os.Getuid())
	}
	return conn, nil
}
