package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/privatedir"
	"bareclaw/internal/samefile"
)

// The names of the files that workers leave with the supervisor. Those of sockets are their
// networks.
const (
	lockFile = "lock"
	tcpFile  = "tcp"
	unixFile = "unix"
	toolFile = "tools"
)

// sockets are the listeners of the API.
type sockets struct {
	*base
	passed map[string]*os.File // by a service manager, by tcpFile and unixFile
	tcp    net.Listener
	unix   net.Listener // the API socket
	tools  net.Listener // the address of the tool host; nil: none
}

func (s *sockets) apiSocket() string { return client.Socket(s.cfg) }

// close closes the listeners. The supervisor may have copies.
func (s *sockets) close() {
	for _, l := range []net.Listener{s.tcp, s.unix, s.tools} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// listen opens the listeners of the API. listen prefers a socket passed by a service
// manager, then the socket of an earlier worker if the configured address has not changed.
func (s *sockets) listen() (err error) {
	if s.tcp, err = s.listenTCP(tcpFile, s.cfg.HTTP.Address(), "BARECLAW_HOST, BARECLAW_PORT"); err != nil {
		return err
	}
	if s.cfg.Claude.Tools.HostAddr != "" {
		if s.tools, err = s.listenTCP(toolFile, string(s.cfg.Claude.Tools.HostAddr), "BARECLAW_TOOLHOST_ADDR"); err != nil {
			return err
		}
	}
	if err := privatedir.Make(s.cfg.RuntimeDir(), "BARECLAW_RUNTIME_DIR"); err != nil {
		return fmt.Errorf("use the runtime directory: %w", err)
	}
	s.unix, err = s.listenUnix()
	return err
}

// listenTCP opens a listener on the address that the variables configure.
func (s *sockets) listenTCP(name, address, variables string) (net.Listener, error) {
	wanted := func(a net.Addr) bool {
		have, isTCP := a.(*net.TCPAddr)
		want, err := net.ResolveTCPAddr("tcp", address)
		return err == nil && isTCP && sameIP(have.IP, want.IP) && (want.Port == 0 || have.Port == want.Port)
	}
	l, fits, err := s.given(name, wanted, fmt.Sprintf("%s (%s)", address, variables))
	if err != nil || fits {
		return l, err
	}
	if l != nil {
		_ = l.Close()
	}
	l, err = net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		_, port, _ := net.SplitHostPort(address) // it was resolved above
		return nil, fmt.Errorf("port %s is in use by another program; stop it, or set another port (%s): %w", port, variables, err)
	case err != nil:
		return nil, fmt.Errorf("listen for HTTP (%s): %w", variables, err)
	}
	return l, nil
}

// sameIP reports whether two addresses are the same, or both mean all of the machine's.
func sameIP(a, b net.IP) bool { return a.Equal(b) || a.IsUnspecified() && b.IsUnspecified() }

// listenUnix opens the API socket. Because this process holds the state lock, an existing
// socket that no earlier worker has left is stale.
func (s *sockets) listenUnix() (net.Listener, error) {
	wanted := func(a net.Addr) bool { return a.String() == s.apiSocket() || sameSocket(a.String(), s.apiSocket()) }
	l, fits, err := s.given(unixFile, wanted, s.apiSocket()+" (BARECLAW_RUNTIME_DIR)")
	switch {
	case err != nil || fits:
		return l, err // Close does not remove the socket's file: see end
	case l != nil:
		err := movedError("runtime", "BARECLAW_RUNTIME_DIR", filepath.Dir(l.Addr().String()), s.cfg.RuntimeDir())
		return nil, errors.Join(err, l.Close())
	}
	if err := s.vacant(); err != nil {
		return nil, err
	}
	own, err := privatedir.Listen(s.apiSocket())
	if err != nil {
		return nil, fmt.Errorf("listen on the API socket (BARECLAW_RUNTIME_DIR): %w", err)
	}
	return own, nil
}

// sameSocket reports whether two paths have the same name in the same directory.
func sameSocket(a, b string) bool {
	return filepath.Base(a) == filepath.Base(b) && samefile.Paths(filepath.Dir(a), filepath.Dir(b))
}

// movedError refuses to take over from a gateway that has another directory.
func movedError(which, variable, from, to string) error {
	return fmt.Errorf("the %s directory cannot change while the gateway runs: it uses %s, and %s is now %s; "+
		"set it back, or stop the gateway, move %s to %s, and start it", which, from, variable, to, from, to)
}

func openPath(f *os.File) string {
	if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err == nil {
		return path
	}
	return f.Name()
}

// vacant returns an error if a gateway with another state directory listens on the API
// socket: this gateway would replace that socket. A child of a gateway that was just killed
// may hold the socket for a moment.
func (s *sockets) vacant() error {
	const tries, pause = 50, 10 * time.Millisecond
	for n := 1; ; n++ {
		c, err := net.Dial("unix", s.apiSocket())
		if err != nil {
			return nil //nolint:nilerr // nobody is there
		}
		_ = c.Close()
		if n == tries {
			return fmt.Errorf("another gateway listens on %s; stop it first, or set BARECLAW_RUNTIME_DIR to another directory", s.apiSocket())
		}
		time.Sleep(pause)
	}
}

// deposit leaves the lock and the listeners with the supervisor, for later workers. Those
// that a service manager has passed are there already.
func (s *sockets) deposit(lock *lockfile.StateLock) error {
	files := map[string]*os.File{lockFile: lock.File()}
	for name, l := range map[string]net.Listener{tcpFile: s.tcp, unixFile: s.unix, toolFile: s.tools} {
		if s.passed[name] != nil || l == nil {
			continue
		}
		f, err := l.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			return fmt.Errorf("leave the %s listener with the supervisor: %w", name, err)
		}
		defer func() { _ = f.Close() }()
		files[name] = f
	}
	s.parent.Keep(files)
	s.unlinkSocket(false) // the next worker's
	return nil
}

// unlinkSocket sets whether closing the API socket removes its file, unless the file belongs to
// a service manager.
func (s *sockets) unlinkSocket(on bool) {
	if l, ok := s.unix.(*net.UnixListener); ok && s.passed[unixFile] == nil {
		l.SetUnlinkOnClose(on)
	}
}

// findPassed sorts the sockets that a service manager has passed by their kind. An unusable
// socket, or a socket with the name of the other kind (FileDescriptorName=), is an error. The
// supervisor keeps the sockets open while no worker runs, so that clients who connect then
// wait for the next worker.
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
	errNone := errors.New("it is not a listening TCP or Unix socket (ListenStream= with Accept=no)")
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

// given returns a listener on the socket that a service manager has passed or an earlier
// worker has left, nil without a socket, and whether the listener has the wanted address. A
// passed socket with another address is an error.
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
