package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"
)

// The names that a socket unit may give its sockets (FileDescriptorName=).
const (
	httpSocketName = "http"
	apiSocketName  = "api"
)

// passedPrefix marks a socket that is handed over and belongs to a service manager.
const passedPrefix = "passed-"

// passedSockets are those that a service manager has opened for the gateway, by tcpFile
// and unixFile. They stay open while no daemon runs, so that who connects then waits:
// none of them is ever closed to others or removed. The files are kept for a successor
// and for a start in place, besides the listeners.
type passedSockets map[string]*os.File

// socketsVariable is set in a daemon that starts anew in its own place: the numbers of
// the sockets that were passed to it.
const socketsVariable = "BARECLAW_SOCKETS"

// findPassed returns what was passed to this process, by a service manager, by itself
// before it started anew, or to its predecessor. The environment says nothing of it any
// more. What cannot be used is refused.
func (d *daemon) findPassed() (err error) {
	d.passed = passedSockets{}
	fresh := activation.Files(true) // none where they are of another process, as in a successor
	if err := d.passed.takeKept(); err != nil {
		return err
	}
	for _, name := range []string{tcpFile, unixFile} {
		if d.predecessor == nil {
			break
		}
		if f := d.predecessor.File(passedPrefix + name); f != nil {
			d.passed[name] = f
		}
	}
	for _, f := range fresh {
		if err := d.passed.take(f); err != nil {
			return fmt.Errorf("the service manager passes %s: %w", f.Name(), err)
		}
	}
	return nil
}

// take takes a socket by its name, or by its kind if it has another name.
func (p passedSockets) take(f *os.File) error {
	kind, err := kindOf(f)
	if err != nil {
		return err
	}
	switch wanted := map[string]string{httpSocketName: tcpFile, apiSocketName: unixFile}[f.Name()]; {
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

// keep keeps the sockets through an exec, and returns the environment that says so.
func (p passedSockets) keep(environ []string) ([]string, error) {
	var kept []string
	for name, f := range p {
		conn, err := f.SyscallConn()
		if err == nil {
			var setErr error
			err = conn.Control(func(fd uintptr) {
				_, setErr = unix.FcntlInt(fd, unix.F_SETFD, 0)
				kept = append(kept, name+"="+strconv.Itoa(int(fd)))
			})
			err = cmp.Or(err, setErr)
		}
		if err != nil {
			return nil, fmt.Errorf("keep the socket that the service manager passed: %w", err)
		}
	}
	if len(kept) == 0 {
		return environ, nil
	}
	return append(slices.Clip(environ), socketsVariable+"="+strings.Join(kept, ",")), nil
}

// takeKept takes what keep has kept.
func (p passedSockets) takeKept() error {
	all := os.Getenv(socketsVariable)
	if all == "" {
		return nil
	}
	err := os.Unsetenv(socketsVariable)
	for _, one := range strings.Split(all, ",") {
		name, number, _ := strings.Cut(one, "=")
		fd, numErr := strconv.Atoi(number)
		if numErr == nil {
			_, numErr = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
		}
		if err = cmp.Or(err, numErr); err != nil {
			return fmt.Errorf("find the sockets that the service manager passed: %w", err)
		}
		p[name] = os.NewFile(uintptr(fd), name)
	}
	return nil
}
