package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	systemd "github.com/coreos/go-systemd/v22/dbus"

	"bareclaw/internal/statemark"
)

// systemdManager manages jobs through the user instance of systemd.
type systemdManager struct{ dirs Dirs }

// System returns Systemd.
func (systemdManager) System() System { return Systemd }

// Available returns why the user's systemd cannot be reached.
func (systemdManager) Available(ctx context.Context) error {
	bus, err := connect(ctx)
	if err != nil {
		return err
	}
	bus.Close()
	return nil
}

// Install writes a job's files, then enables and starts the job's first unit.
func (m systemdManager) Install(ctx context.Context, job Job, spec Spec) ([]string, error) {
	files, err := Files(Systemd, job, spec, m.dirs)
	if err != nil {
		return nil, err
	}
	bus, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	defer bus.Close()
	i := &installation{manager: m, bus: bus, job: job, changed: map[string]bool{}}
	if err := i.run(ctx, files, spec); err != nil {
		return i.did, err
	}
	return i.did, nil
}

// An installation is the state of a single call of Install.
type installation struct {
	manager systemdManager
	bus     *systemd.Conn
	job     Job
	did     []string
	changed map[string]bool // by file name
	units   []string        // units to install, the unit to start first
}

func (i *installation) run(ctx context.Context, files []File, spec Spec) error {
	for _, f := range files {
		did, changed, err := place(f)
		if err != nil {
			return err
		}
		i.did = append(i.did, did)
		name := filepath.Base(f.Path)
		i.changed[name] = changed
		if slices.Contains(i.job.names().units, name) {
			i.units = append(i.units, name)
		}
	}
	if err := i.dropSocket(ctx); err != nil {
		return err
	}
	if err := i.bus.ReloadContext(ctx); err != nil {
		return fmt.Errorf("have systemd read its units: %w", err)
	}
	if err := i.loaded(ctx); err != nil {
		return err
	}
	if err := i.enable(ctx); err != nil {
		return err
	}
	return i.start(ctx, spec)
}

// dropSocket removes the socket unit of an earlier installation if the new installation
// has none: systemd would keep listening on the socket.
func (i *installation) dropSocket(ctx context.Context) error {
	path := filepath.Join(i.manager.dirs.unitDir(), socketUnit)
	if i.job != Gateway || slices.Contains(i.units, socketUnit) || !exists(path) {
		return nil
	}
	i.changed[socketUnit] = true
	if err := errors.Join(stop(ctx, i.bus, gatewayUnit), stop(ctx, i.bus, socketUnit)); err != nil {
		return err
	}
	did, err := disableAndRemove(ctx, i.bus, filepath.Dir(path), []string{path})
	i.did = append(i.did, did...)
	return err
}

// loaded returns an error unless systemd has loaded exactly the units written by
// Install.
func (i *installation) loaded(ctx context.Context) error {
	for _, name := range i.units {
		p, err := properties(ctx, i.bus, name, "")
		if err != nil {
			return err
		}
		want, state := filepath.Join(i.manager.dirs.unitDir(), name), text(p, "LoadState")
		switch have := text(p, "FragmentPath"); {
		case state == "masked":
			return fmt.Errorf("%s is masked; run `systemctl --user unmask %s`, and install again", name, name)
		case !sameFile(have, want):
			return fmt.Errorf("systemd reads %q for %s, not %s: is XDG_CONFIG_HOME or HOME here another one than systemd's own?", have, name, want)
		case state != "loaded":
			return fmt.Errorf("systemd does not take %s (%s); `systemd-analyze --user verify %s` says why", want, state, want)
		}
	}
	return nil
}

// enable enables the job's units to start with the user's systemd.
func (i *installation) enable(ctx context.Context) error {
	var names []string
	for _, name := range i.units {
		p, err := properties(ctx, i.bus, name, "")
		if err != nil {
			return err
		}
		if state := text(p, "UnitFileState"); state != "enabled" && state != "static" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if _, _, err := i.bus.EnableUnitFilesContext(ctx, names, false, true); err != nil {
		return fmt.Errorf("enable %v: %w", names, err)
	}
	if err := i.bus.ReloadContext(ctx); err != nil {
		return fmt.Errorf("have systemd read its units: %w", err)
	}
	for _, name := range names {
		i.did = append(i.did, "enabled "+name)
	}
	return nil
}

// start starts the job, or restarts the job if the files have changed.
func (i *installation) start(ctx context.Context, spec Spec) error {
	name := i.units[0]
	p, err := properties(ctx, i.bus, name, "")
	if err != nil {
		return err
	}
	active := text(p, "ActiveState") == "active"
	if active && !i.outdated() {
		return i.tellRunning(ctx, "runs already: ")
	}
	if i.job == Gateway && !active {
		own, err := properties(ctx, i.bus, name, "Service")
		if err != nil {
			return err
		}
		if h, held, _ := statemark.Gateway(spec.StateDir); held && int64(h.PID) != number(own, "MainPID") { // the holder may be the service's own process, not yet ready
			return fmt.Errorf("%w: pid %d, at %s; the service is enabled, and starts with the next login or boot", ErrHeld, h.PID, h.Address)
		}
	}
	verb := "started "
	switch {
	case active && i.changed[socketUnit]: // the gateway and systemd exchange the listening address, in either direction
		if err := errors.Join(stop(ctx, i.bus, gatewayUnit), stop(ctx, i.bus, socketUnit)); err != nil {
			return err
		}
		fallthrough
	case !active:
		err = startUnit(ctx, i.bus, name)
	default:
		verb = "restarted "
		err = restart(ctx, i.bus, name)
	}
	if err != nil {
		return err
	}
	return i.tellRunning(ctx, verb)
}

// outdated reports whether the running unit was started from changed files. systemd
// reads a heartbeat's service anew for each tick; only the timer keeps running.
func (i *installation) outdated() bool {
	if i.job == Heartbeat {
		return i.changed[heartbeatTimer]
	}
	for _, changed := range i.changed {
		if changed {
			return true
		}
	}
	return false
}

func (i *installation) tellRunning(ctx context.Context, verb string) error {
	name := i.units[0]
	if i.job == Heartbeat {
		i.did = append(i.did, verb+name)
		return nil
	}
	p, err := properties(ctx, i.bus, name, "Service")
	if err != nil {
		return err
	}
	i.did = append(i.did, fmt.Sprintf("%s%s, pid %d", verb, name, number(p, "MainPID")))
	return nil
}

// Start starts the gateway now, or runs a single tick of the heartbeat.
func (m systemdManager) Start(ctx context.Context, job Job) error {
	bus, err := connect(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	return startUnit(ctx, bus, job.names().service)
}

// Stop stops the units of a job.
func (m systemdManager) Stop(ctx context.Context, job Job) error {
	bus, err := connect(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	for _, name := range job.names().stopped {
		if err := stop(ctx, bus, name); err != nil {
			return err
		}
		_ = bus.ResetFailedUnitContext(ctx, name) // a unit killed while stopping has not failed
	}
	return nil
}

// Restart restarts the service unit of a job. Sockets stay open.
func (m systemdManager) Restart(ctx context.Context, job Job) error {
	bus, err := connect(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	name := job.names().service
	_ = bus.ResetFailedUnitContext(ctx, name) // clears the start limit, since earlier failures would count against the start
	return restart(ctx, bus, name)
}

// Uninstall ends a job and removes the job's files. If systemd cannot be reached, only
// the files are removed.
func (m systemdManager) Uninstall(ctx context.Context, job Job) ([]string, error) {
	paths := m.installed(job)
	if len(paths) == 0 {
		return []string{"the " + string(job) + " is not installed: nothing to remove"}, nil
	}
	bus, err := connect(ctx)
	if err != nil {
		did, errRemove := m.removeWithout(paths)
		return append(did, "systemd was not told: "+err.Error()), errRemove
	}
	defer bus.Close()
	did, err := m.end(ctx, bus, job)
	if err != nil {
		return did, err
	}
	gone, err := disableAndRemove(ctx, bus, m.dirs.unitDir(), paths)
	did = append(did, gone...)
	if err != nil {
		return did, err
	}
	if err := bus.ReloadContext(ctx); err != nil {
		return did, fmt.Errorf("have systemd read its units: %w", err)
	}
	for _, name := range job.names().units {
		_ = bus.ResetFailedUnitContext(ctx, name) // fails harmlessly for a unit unknown to systemd
	}
	return did, nil
}

// end stops the units of a job and returns a line for each stopped unit.
func (systemdManager) end(ctx context.Context, bus *systemd.Conn, job Job) (did []string, err error) {
	if job == Gateway { // first, because stopping the socket would end the gateway and leave the sessions
		ended, err := endSessions(ctx, bus)
		if err != nil {
			return nil, err
		}
		if ended {
			did = append(did, "stopped the gateway and its sessions")
		}
	}
	for _, name := range job.names().stopped {
		p, err := bus.GetUnitPropertiesContext(ctx, name)
		if err != nil || !slices.Contains([]string{"active", "activating", "reloading"}, text(p, "ActiveState")) {
			continue
		}
		if err := stop(ctx, bus, name); err != nil {
			return did, err
		}
		did = append(did, "stopped "+name)
	}
	return did, nil
}

// endSessions interrupts the gateway, so that the sessions end too: after Uninstall no
// gateway would manage the sessions. endSessions reports whether a gateway was running.
func endSessions(ctx context.Context, bus *systemd.Conn) (bool, error) {
	p, err := bus.GetUnitTypePropertiesContext(ctx, gatewayUnit, "Service")
	if err != nil { // systemd knows no gateway unit
		return false, nil //nolint:nilerr // an unknown unit runs no gateway
	}
	pid := int(number(p, "MainPID"))
	return pid > 0, interrupt(ctx, pid)
}

// installed lists the existing files of a job.
func (m systemdManager) installed(job Job) []string {
	var paths []string
	for _, name := range job.names().units {
		paths = append(paths, filepath.Join(m.dirs.unitDir(), name))
	}
	paths = append(paths, m.dirs.envPath(job, Spec{}))
	if job == Heartbeat {
		paths = append(paths, filepath.Join(m.dirs.Data, "systemd", "timers", "stamp-"+heartbeatTimer))
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !exists(path) })
}

// removeWithout removes files and the links that enable units, without systemd's help.
func (m systemdManager) removeWithout(paths []string) (did []string, err error) {
	for _, path := range paths {
		links, err := filepath.Glob(filepath.Join(escapeGlob(m.dirs.unitDir()), "*.wants", filepath.Base(path)))
		if err != nil {
			return did, fmt.Errorf("look for what enables %s: %w", path, err)
		}
		gone, err := removeAll(append(links, path)...)
		if did = append(did, gone...); err != nil {
			return did, err
		}
	}
	return did, nil
}

// disableAndRemove disables units and removes the units' files.
func disableAndRemove(ctx context.Context, bus *systemd.Conn, unitDir string, paths []string) (did []string, err error) {
	for _, path := range paths {
		if name := filepath.Base(path); filepath.Dir(path) == unitDir {
			changes, err := bus.DisableUnitFilesContext(ctx, []string{name}, false)
			if err != nil {
				return did, fmt.Errorf("disable %s: %w", name, err)
			}
			if len(changes) > 0 {
				did = append(did, "disabled "+name)
			}
		}
		gone, err := removeAll(path)
		if did = append(did, gone...); err != nil {
			return did, err
		}
	}
	return did, nil
}

func startUnit(ctx context.Context, bus *systemd.Conn, name string) error {
	_ = bus.ResetFailedUnitContext(ctx, name) // clears the start limit, since earlier failures would count against the start
	return wait(ctx, "start "+name, func(done chan<- string) error {
		_, err := bus.StartUnitContext(ctx, name, "replace", done)
		return err
	})
}

func restart(ctx context.Context, bus *systemd.Conn, name string) error {
	return wait(ctx, "restart "+name, func(done chan<- string) error {
		_, err := bus.RestartUnitContext(ctx, name, "replace", done)
		return err
	})
}

func stop(ctx context.Context, bus *systemd.Conn, name string) error {
	if p, err := bus.GetUnitPropertiesContext(ctx, name); err == nil && text(p, "LoadState") == "not-found" {
		return nil
	}
	return wait(ctx, "stop "+name, func(done chan<- string) error {
		_, err := bus.StopUnitContext(ctx, name, "replace", done)
		return err
	})
}

// wait calls begin to queue a systemd job and blocks until the job or ctx ends.
func wait(ctx context.Context, what string, begin func(done chan<- string) error) error {
	done := make(chan string, 1)
	if err := begin(done); err != nil {
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

// sameFile reports whether two paths refer to the same file.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// properties returns the properties of a unit: the general ones, or those of a type of unit.
func properties(ctx context.Context, bus *systemd.Conn, name, kind string) (p map[string]any, err error) {
	if kind == "" {
		p, err = bus.GetUnitPropertiesContext(ctx, name)
	} else {
		p, err = bus.GetUnitTypePropertiesContext(ctx, name, kind)
	}
	if err != nil {
		return nil, fmt.Errorf("ask systemd about %s: %w", name, err)
	}
	return p, nil
}

// text returns a unit property of type string, or "".
func text(p map[string]any, name string) string { s, _ := p[name].(string); return s }

// number returns a unit property of type integer, or 0.
func number(p map[string]any, name string) int64 {
	switch n := p[name].(type) {
	case uint32:
		return int64(n)
	case int32:
		return int64(n)
	case uint64:
		return int64(min(n, 1<<63-1))
	}
	return 0
}
