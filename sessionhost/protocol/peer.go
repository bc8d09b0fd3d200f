package protocol

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"bareclaw/internal/peercred"
)

// CheckPeer refuses a peer of another user.
func CheckPeer(c net.Conn) error {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("peer of %T has no credentials", c)
	}
	uid, _, err := peercred.UnixUID(uc)
	if err != nil {
		return fmt.Errorf("ask for the peer's credentials: %w", err)
	}
	if int(uid) != os.Getuid() {
		return fmt.Errorf("peer has uid %d, want %d", uid, os.Getuid())
	}
	return nil
}

// IsDisconnect reports whether the error means that the other end is gone.
func IsDisconnect(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED)
}
