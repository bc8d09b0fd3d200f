package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// findPassed takes the sockets that a service manager has passed, by their kind. A socket
// that cannot be used, or has the name of the other kind (FileDescriptorName=), is refused.
// They stay open in the supervisor while no worker runs, so that clients wait which connect
// then: no socket is ever closed to others or removed.
func (s *sockets) findPassed() error {
	s.passed = map[string]*os.File{}
	for _, p := range s.parent.Passed() {
		kind, err := kindOf(p.File)
		switch wanted := map[string]string{"http": tcpFile, "api": unixFile}[p.Name]; {
		case err != nil:
		case wanted != "" && wanted != kind:
			err = fmt.Errorf("it is a listening %s socket; one of that name must be a %s socket", kind, wanted)
		case s.passed[kind] != nil:
			err = fmt.Errorf("it is another listening %s socket, and there is use for one (ListenStream= once for HTTP, once for the API socket)", kind)
		}
		if err != nil {
			return fmt.Errorf("the service manager passes %s: %w", p.Name, err)
		}
		s.passed[kind] = p.File
	}
	return nil
}

func kindOf(f *os.File) (kind string, err error) {
	errNone := errors.New("it is no listening TCP or Unix socket (ListenStream= with Accept=no)")
	l, err := net.FileListener(f)
	if err != nil {
		return "", errors.Join(errNone, err)
	}
	defer func() { _ = l.Close() }()
	conn, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	listens := 0
	if err := conn.Control(func(fd uintptr) { listens, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN) }); err != nil {
		return "", err
	}
	switch network := l.Addr().Network(); {
	case listens == 0 || network != tcpFile && network != unixFile:
		return "", errNone
	default:
		return network, nil
	}
}

// given returns a listener on the socket that a service manager has passed, or an earlier
// worker has left, and whether that has the wanted address; nil if there is none. One of a
// service manager with another address than is configured is refused.
func (s *sockets) given(name string, wanted func(net.Addr) bool, configured string) (l net.Listener, fits bool, err error) {
	f := s.passed[name]
	if f == nil {
		if f = s.parent.File(name); f == nil {
			return nil, false, nil
		}
		defer func() { _ = f.Close() }()
	}
	if l, err = net.FileListener(f); err != nil {
		return nil, false, fmt.Errorf("use the %s socket of the service manager or of the worker before: %w", name, err)
	}
	if fits = wanted(l.Addr()); !fits && s.passed[name] != nil {
		err := fmt.Errorf("the service manager passes a socket on %s, and %s is configured: change the socket unit or the configuration", l.Addr(), configured)
		return nil, false, errors.Join(err, l.Close())
	}
	return l, fits, nil
}
