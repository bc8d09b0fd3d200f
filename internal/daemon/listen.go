package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"bareclaw/internal/privatedir"
)

// listen opens the two addresses of the API, or uses the sockets that a service manager
// has passed, or those of earlier workers where the configured addresses are still theirs.
func (d *daemon) listen() (err error) {
	if d.http.tcp, err = d.listenTCP(); err != nil {
		return err
	}
	d.closers = append(d.closers, func() { _ = d.http.tcp.Close() })
	if err := privatedir.Make(d.cfg.RuntimeDir, "BARECLAW_RUNTIME_DIR"); err != nil {
		return fmt.Errorf("use the runtime directory: %w", err)
	}
	if d.http.unix, err = d.listenUnix(); err != nil {
		return err
	}
	d.closers = append(d.closers, func() { _ = d.http.unix.Close() })
	return nil
}

func (d *daemon) listenTCP() (net.Listener, error) {
	address := net.JoinHostPort(d.cfg.Host, strconv.Itoa(d.cfg.Port))
	wanted := func(a net.Addr) bool {
		have, isTCP := a.(*net.TCPAddr)
		want, err := net.ResolveTCPAddr("tcp", address)
		return err == nil && isTCP && sameIP(have.IP, want.IP) && (want.Port == 0 || have.Port == want.Port)
	}
	if l, err := d.passed.listener(tcpFile, wanted, address+" (BARECLAW_HOST, BARECLAW_PORT)"); l != nil || err != nil {
		return l, err
	}
	l, err := d.inherited(tcpFile)
	if err != nil || l != nil && wanted(l.Addr()) {
		return l, err
	}
	if l != nil {
		_ = l.Close()
	}
	l, err = net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d is in use by another program; stop it, or set BARECLAW_PORT: %w", d.cfg.Port, err)
	case err != nil:
		return nil, fmt.Errorf("listen for HTTP (BARECLAW_HOST, BARECLAW_PORT): %w", err)
	}
	return l, nil
}

// sameIP reports whether two addresses are the same, or both mean all of the machine's.
func sameIP(a, b net.IP) bool { return a.Equal(b) || a.IsUnspecified() && b.IsUnspecified() }

// listenUnix opens the API socket. The state lock is held, so a socket that is there
// already, and of no earlier worker, is stale.
func (d *daemon) listenUnix() (net.Listener, error) {
	wanted := func(a net.Addr) bool { return a.String() == d.apiSocket() || sameDirectory(a.String(), d.apiSocket()) }
	if l, err := d.passed.listener(unixFile, wanted, d.apiSocket()+" (BARECLAW_RUNTIME_DIR)"); l != nil || err != nil {
		return l, err // it is not removed when it is closed
	}
	switch l, err := d.inherited(unixFile); {
	case err != nil:
		return nil, err
	case l != nil && wanted(l.Addr()):
		return l, d.closeSocket() // not removed when it is closed: see end
	case l != nil:
		err := movedError("runtime", "BARECLAW_RUNTIME_DIR", filepath.Dir(l.Addr().String()), d.cfg.RuntimeDir)
		return nil, errors.Join(err, l.Close())
	}
	if err := d.vacant(); err != nil {
		return nil, err
	}
	if err := os.Remove(d.apiSocket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old API socket: %w", err)
	}
	l, err := net.Listen("unix", d.apiSocket())
	if err != nil {
		return nil, fmt.Errorf("listen on the API socket (BARECLAW_RUNTIME_DIR): %w", err)
	}
	return l, d.closeSocket()
}

// closeSocket closes the API socket to other users, whom the runtime directory keeps out
// as well.
func (d *daemon) closeSocket() error {
	if err := os.Chmod(d.apiSocket(), 0o600); err != nil {
		return fmt.Errorf("close the API socket to others: %w", err)
	}
	return nil
}

// sameDirectory reports whether two paths name the same entry of the same directory.
func sameDirectory(a, b string) bool {
	first, err1 := os.Stat(filepath.Dir(a))
	second, err2 := os.Stat(filepath.Dir(b))
	return err1 == nil && err2 == nil && os.SameFile(first, second) && filepath.Base(a) == filepath.Base(b)
}

// movedError refuses to take over from a gateway that has another directory.
func movedError(which, variable, from, to string) error {
	return fmt.Errorf("the %s directory cannot change while the gateway runs: it uses %s, and %s is now %s; "+
		"set it back, or stop the gateway, move %s to %s, and start it", which, from, variable, to, from, to)
}

// openPath returns the path of an open file as the system knows it, or the file's name.
func openPath(f *os.File) string {
	if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err == nil {
		return path
	}
	return f.Name()
}

// vacant returns an error if somebody listens on the API socket: a gateway with another
// state directory, whose sockets would be replaced by ours. One that has just been killed
// may live on in a child for a moment.
func (d *daemon) vacant() error {
	const tries, pause = 50, 10 * time.Millisecond
	for n := 1; ; n++ {
		c, err := net.Dial("unix", d.apiSocket())
		if err != nil {
			return nil //nolint:nilerr // nobody is there
		}
		_ = c.Close()
		if n == tries {
			return fmt.Errorf("another gateway listens on %s; stop it first, or set BARECLAW_RUNTIME_DIR to another directory", d.apiSocket())
		}
		time.Sleep(pause)
	}
}

// inherited returns the listener of an earlier worker, nil if there is none.
func (d *daemon) inherited(name string) (net.Listener, error) {
	f := d.parent.File(name)
	if f == nil {
		return nil, nil
	}
	defer func() { _ = f.Close() }()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take over listener %s: %w", name, err)
	}
	return l, nil
}
