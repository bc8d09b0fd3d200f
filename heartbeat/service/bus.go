package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// A bus is a connection to the user's systemd.
type bus struct{ *systemd.Conn }

// connect opens a D-Bus connection to the user's systemd: first over the private socket
// of systemd, where no message bus is needed, then over the session bus. The connection
// ends with ctx.
func connect(ctx context.Context) (bus, error) {
	runtimeDir := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(runtimeDir) { // the XDG Base Directory Specification requires ignoring a relative path
		runtimeDir = filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	}
	at := func(name string) string {
		return "unix:path=" + dbus.EscapeBusAddressValue(filepath.Join(runtimeDir, name))
	}
	direct, errDirect := dial(ctx, at("systemd/private"), func(*dbus.Conn) error { return nil })
	if errDirect == nil {
		return direct, nil
	}
	overBus, errBus := dial(ctx, cmp.Or(os.Getenv("DBUS_SESSION_BUS_ADDRESS"), at("bus")), (*dbus.Conn).Hello)
	if errBus == nil {
		return overBus, nil
	}
	return bus{}, unanswered(os.Getuid(), exists("/run/systemd/system"), errDirect, errBus)
}

// dial connects to systemd at an address as the current user, and greets what answers there.
func dial(ctx context.Context, address string, greet func(*dbus.Conn) error) (bus, error) {
	conn, err := systemd.NewConnection(func() (*dbus.Conn, error) {
		conn, err := dbus.Dial(address, dbus.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		if err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err == nil {
			err = greet(conn)
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	})
	return bus{conn}, err
}

// An unavailableError says why no service manager answers, and what to do.
type unavailableError struct {
	why   string
	tried []error
}

func (e unavailableError) Error() string   { return e.why }
func (e unavailableError) Unwrap() []error { return e.tried }

// Tried returns the failed attempts to reach a service manager that are behind an error, for
// debugging; empty if there are none.
func Tried(err error) []error {
	e, _ := errors.AsType[unavailableError](err)
	return e.tried
}

// unanswered explains why a user's systemd cannot be reached and how to fix the problem.
// booted reports whether systemd is the machine's init.
func unanswered(uid int, booted bool, tried ...error) error {
	why := "this user has no systemd here, as after su or sudo: log in as the user itself, or run `sudo loginctl enable-linger $USER` and set XDG_RUNTIME_DIR=/run/user/" + strconv.Itoa(uid)
	switch {
	case !booted:
		why = "systemd is not running here (containers, WSL without systemd=true): run `bareclaw serve` from whatever starts programs here"
	case uid == 0:
		why = "root has no systemd of its own here: install as the user who is to talk to Claude, use contrib/systemd/system/bareclaw.service for the whole system, " +
			"or run `bareclaw serve` from whatever starts programs here"
	}
	return unavailableError{why, tried}
}

func (b bus) reload(ctx context.Context) error {
	if err := b.ReloadContext(ctx); err != nil {
		return fmt.Errorf("have systemd read its units: %w", err)
	}
	return nil
}

func (b bus) start(ctx context.Context, name string) error {
	_ = b.ResetFailedUnitContext(ctx, name) // clears the start limit, since earlier failures would count against the start
	return wait(ctx, "start "+name, func(done chan<- string) (int, error) { return b.StartUnitContext(ctx, name, "replace", done) })
}

func (b bus) restart(ctx context.Context, name string) error {
	_ = b.ResetFailedUnitContext(ctx, name) // as for start
	return wait(ctx, "restart "+name, func(done chan<- string) (int, error) { return b.RestartUnitContext(ctx, name, "replace", done) })
}

// stop stops units in order. A unit unknown to systemd is not an error.
func (b bus) stop(ctx context.Context, names ...string) error {
	for _, name := range names {
		if u, err := b.unit(ctx, name); err == nil && u.text("LoadState") == "not-found" {
			continue
		}
		err := wait(ctx, "stop "+name, func(done chan<- string) (int, error) { return b.StopUnitContext(ctx, name, "replace", done) })
		if err != nil {
			return err
		}
	}
	return nil
}

// wait calls begin to queue a systemd job and blocks until the job or ctx ends.
func wait(ctx context.Context, what string, begin func(done chan<- string) (int, error)) error {
	done := make(chan string, 1)
	if _, err := begin(done); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	select {
	case result := <-done:
		if result != "done" {
			return fmt.Errorf("%s: systemd says %q; `journalctl --user -n 30` or the gateway's own log says why", what, result)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
}

// IsolateProcess moves a process started by a job of the user's systemd into a transient
// scope unit. In the job's cgroup systemd would list the process under a job that has
// ended, and would apply the job's limits to the process.
func IsolateProcess(ctx context.Context, pid int) error {
	b, err := connect(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	name := fmt.Sprintf("bareclaw-gateway-%d-%d.scope", pid, time.Now().Unix())
	return wait(ctx, "start "+name, func(done chan<- string) (int, error) {
		return b.StartTransientUnitContext(ctx, name, "fail", []systemd.Property{
			systemd.PropDescription("BAREclaw, started by its heartbeat"),
			systemd.PropPids(uint32(pid)),
			// Session hosts outlive the gateway by design.
			{Name: "KillMode", Value: dbus.MakeVariant("process")},
			{Name: "OOMPolicy", Value: dbus.MakeVariant("continue")},
			{Name: "CollectMode", Value: dbus.MakeVariant("inactive-or-failed")},
		}, done)
	})
}

// A unit holds the properties of a unit. Properties of other types count as unset.
type unit map[string]any

// unit returns the properties of a unit, also of one that does not exist.
func (b bus) unit(ctx context.Context, name string) (unit, error) {
	u, err := b.GetAllPropertiesContext(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("ask systemd about %s: %w", name, err)
	}
	return u, nil
}

func (u unit) text(name string) string { s, _ := u[name].(string); return s }

func (u unit) number(name string) int {
	switch n := u[name].(type) {
	case uint32:
		return int(n)
	case int32:
		return int(n)
	case uint64:
		return int(min(n, math.MaxInt64))
	}
	return 0
}

// time returns a property in microseconds since 1970, zero if unset.
func (u unit) time(name string) time.Time {
	if usec := u.number(name); usec > 0 && usec < math.MaxInt64 {
		return time.UnixMicro(int64(usec))
	}
	return time.Time{}
}
