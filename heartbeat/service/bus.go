package service

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// connect opens a D-Bus connection to the user's systemd: first over the private socket
// of systemd, where no message bus is needed, then over the session bus. The connection
// ends with ctx.
func connect(ctx context.Context) (*systemd.Conn, error) {
	runtimeDir := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(runtimeDir) { // the XDG Base Directory Specification requires ignoring a relative path
		runtimeDir = filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	}
	direct, errDirect := systemd.NewConnection(func() (*dbus.Conn, error) {
		return authenticated(dbus.Dial("unix:path="+dbus.EscapeBusAddressValue(filepath.Join(runtimeDir, "systemd", "private")), dbus.WithContext(ctx)))
	})
	if errDirect == nil {
		return direct, nil
	}
	address := cmp.Or(os.Getenv("DBUS_SESSION_BUS_ADDRESS"), "unix:path="+dbus.EscapeBusAddressValue(filepath.Join(runtimeDir, "bus")))
	overBus, errBus := systemd.NewConnection(func() (*dbus.Conn, error) {
		conn, err := authenticated(dbus.Dial(address, dbus.WithContext(ctx)))
		if err == nil {
			if err = conn.Hello(); err != nil {
				_ = conn.Close()
			}
		}
		return conn, err
	})
	if errBus == nil {
		return overBus, nil
	}
	return nil, unanswered(os.Getuid(), exists("/run/systemd/system"), errDirect, errBus)
}

// unanswered explains why a user's systemd cannot be reached and how to fix the problem. The
// message ends with the errors of both attempted connections, for debugging.
func unanswered(uid int, booted bool, direct, overBus error) error {
	return fmt.Errorf("no service manager answers: %s (what was tried: %w; %w)", noManager(uid, booted), direct, overBus)
}

// authenticated authenticates conn as the current user and closes conn on failure.
func authenticated(conn *dbus.Conn, err error) (*dbus.Conn, error) {
	if err != nil {
		return nil, err
	}
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// noManager explains why a user may have no systemd and what to do about the lack.
// booted reports whether systemd is the machine's init.
func noManager(uid int, booted bool) string {
	switch {
	case !booted:
		return "this system is not run by systemd, as most containers are not, nor WSL unless /etc/wsl.conf says systemd=true. " +
			"Have what starts programs here run `bareclaw serve`, and start it again whenever it ends; the heartbeat cannot be installed"
	case uid == 0:
		return "root has no systemd of its own here. Install as the user who is to talk to Claude, use contrib/systemd/system/bareclaw.service for the whole system, " +
			"or have what starts programs here run `bareclaw serve`; the heartbeat cannot be installed for root"
	}
	return "this user has no systemd here, as after su or sudo. Log in as the user itself, or run `sudo loginctl enable-linger $USER` and set XDG_RUNTIME_DIR=/run/user/" + strconv.Itoa(uid)
}
