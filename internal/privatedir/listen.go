package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// Listen listens on a Unix socket that only this user can connect to. Until Listen has set the
// socket's mode, the mode of its directory keeps other users out. A socket that is left at the path is
// replaced: the caller makes sure that nobody listens on it.
func Listen(socket string) (*net.UnixListener, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the socket to other users: %w", err), l.Close())
	}
	return l, nil
}
