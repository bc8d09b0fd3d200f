package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// The names that a socket unit may give its sockets (FileDescriptorName=).
const (
	httpSocketName = "http"
	apiSocketName  = "api"
)

// passedSockets are those that a service manager has opened for the gateway, by tcpFile
// and unixFile. They stay open in the supervisor while no worker runs, so that clients wait
// which connect then: no socket is ever closed to others or removed.
type passedSockets map[string]*os.File

// findPassed takes the sockets that a service manager has passed. A socket that cannot be
// used is refused.
func (s *sockets) findPassed() error {
	s.passed = passedSockets{}
	for _, p := range s.parent.Passed() {
		if err := s.passed.take(p.Name, p.File); err != nil {
			return fmt.Errorf("the service manager passes %s: %w", p.Name, err)
		}
	}
	return nil
}

// take takes a socket by its name, or by its kind if it has another name.
func (p passedSockets) take(name string, f *os.File) error {
	kind, err := kindOf(f)
	if err != nil {
		return err
	}
	switch wanted := map[string]string{httpSocketName: tcpFile, apiSocketName: unixFile}[name]; {
	case wanted != "" && wanted != kind:
		return fmt.Errorf("it is a listening %s socket; one of that name must be a %s socket", kind, wanted)
	case p[kind] != nil:
		return fmt.Errorf("it is another listening %s socket, and there is use for one (ListenStream= once for HTTP, once for the API socket)", kind)
	}
	p[kind] = f
	return nil
}

// kindOf returns tcpFile or unixFile, or why it is neither.
func kindOf(f *os.File) (kind string, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	var addr unix.Sockaddr
	var listens, socketType int
	var errs [3]error
	err = conn.Control(func(fd uintptr) {
		addr, errs[0] = unix.Getsockname(int(fd))
		listens, errs[1] = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		socketType, errs[2] = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE)
	})
	if err := cmp.Or(err, errs[0]); err != nil {
		return "", fmt.Errorf("it is no socket: %w", err)
	}
	switch addr.(type) {
	case *unix.SockaddrInet4, *unix.SockaddrInet6:
		kind = tcpFile
	case *unix.SockaddrUnix:
		kind = unixFile
	}
	switch err := cmp.Or(errs[1], errs[2]); {
	case err != nil:
		return "", fmt.Errorf("ask what it is: %w", err)
	case kind == "" || socketType != unix.SOCK_STREAM || listens == 0:
		return "", errors.New("it is no listening TCP or Unix socket (ListenStream= with Accept=no)")
	}
	return kind, nil
}

// listener returns a listener on the socket, nil if none was passed. One that has not
// the address that is configured is refused.
func (p passedSockets) listener(name string, wanted func(net.Addr) bool, configured string) (net.Listener, error) {
	f := p[name]
	if f == nil {
		return nil, nil
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("use the socket that the service manager passes: %w", err)
	}
	if !wanted(l.Addr()) {
		err := fmt.Errorf("the service manager passes a socket on %s, and %s is configured: change the socket unit or the configuration", l.Addr(), configured)
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
