package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	systemd "github.com/coreos/go-systemd/v22/dbus"
)

// systemdManager is the systemd of a user.
type systemdManager struct{ dirs Dirs }

// System names it.
func (systemdManager) System() System { return Systemd }

// Available returns why it cannot be used.
func (systemdManager) Available(ctx context.Context) error {
	bus, err := connect(ctx)
	if err != nil {
		return err
	}
	bus.Close()
	return nil
}

// Install brings a job's files in place and starts it.
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

// An installation is one call of Install.
type installation struct {
	manager systemdManager
	bus     *systemd.Conn
	job     Job
	did     []string
	changed map[string]bool // by the names of files
	units   []string        // that are to be, the one that is started first
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
		if slices.Contains(i.job.units(), name) {
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

// dropSocket takes away the socket of an earlier installation where this one has none:
// systemd would go on listening on it.
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

// loaded fails unless systemd reads the units that were written, and no others.
func (i *installation) loaded(ctx context.Context) error {
	for _, name := range i.units {
		p, err := i.bus.GetUnitPropertiesContext(ctx, name)
		if err != nil {
			return fmt.Errorf("ask systemd about %s: %w", name, err)
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

// enable has what starts the job start with the user's systemd.
func (i *installation) enable(ctx context.Context) error {
	var names []string
	for _, name := range i.units {
		p, err := i.bus.GetUnitPropertiesContext(ctx, name)
		if err != nil {
			return fmt.Errorf("ask systemd about %s: %w", name, err)
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

// start starts the job, or starts it anew where what it was started with has changed.
func (i *installation) start(ctx context.Context, spec Spec) error {
	name := i.units[0]
	p, err := i.bus.GetUnitPropertiesContext(ctx, name)
	if err != nil {
		return fmt.Errorf("ask systemd about %s: %w", name, err)
	}
	active := text(p, "ActiveState") == "active"
	if active && !i.outdated() {
		return i.tellRunning(ctx, "runs already: ")
	}
	if i.job == Gateway && !active {
		own, err := i.bus.GetUnitTypePropertiesContext(ctx, name, "Service")
		if err != nil {
			return fmt.Errorf("ask systemd about %s: %w", name, err)
		}
		if h, held := holder(spec.StateDir); held && int64(h.PID) != number(own, "MainPID") { // it may be about to be ready
			return fmt.Errorf("%w: pid %d, at %s; the service is enabled, and starts with the next login or boot", ErrHeld, h.PID, h.Address)
		}
	}
	verb := "started "
	switch {
	case active && i.changed[socketUnit]: // the gateway has the address that systemd is to have, or the other way round
		if err := errors.Join(stop(ctx, i.bus, gatewayUnit), stop(ctx, i.bus, socketUnit)); err != nil {
			return err
		}
		fallthrough
	case !active:
		err = startUnit(ctx, i.bus, name)
	default:
		verb = "restarted "
		err = wait(ctx, "restart "+name, func(done chan<- string) error {
			_, err := i.bus.RestartUnitContext(ctx, name, "replace", done)
			return err
		})
	}
	if err != nil {
		return err
	}
	return i.tellRunning(ctx, verb)
}

// outdated reports whether what runs was started with something else. A heartbeat's
// service is read anew for each tick; only its timer runs.
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
	p, err := i.bus.GetUnitTypePropertiesContext(ctx, name, "Service")
	if err != nil {
		return fmt.Errorf("ask systemd about %s: %w", name, err)
	}
	i.did = append(i.did, fmt.Sprintf("%s%s, pid %d", verb, name, number(p, "MainPID")))
	return nil
}

// Start starts the gateway now, or has the heart beat once.
func (m systemdManager) Start(ctx context.Context, job Job) error {
	bus, err := connect(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	if job == Heartbeat {
		return startUnit(ctx, bus, heartbeatUnit)
	}
	return startUnit(ctx, bus, gatewayUnit)
}

// Stop ends what a job consists of. What starts another unit is stopped before it.
func (m systemdManager) Stop(ctx context.Context, job Job) error {
	bus, err := connect(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	for _, name := range []string{socketUnit, gatewayUnit, heartbeatTimer, heartbeatUnit} {
		if !slices.Contains(job.units(), name) {
			continue
		}
		if err := stop(ctx, bus, name); err != nil {
			return err
		}
		_ = bus.ResetFailedUnitContext(ctx, name) // one that was killed meanwhile has not failed
	}
	return nil
}

// Restart ends the service of a job and starts it. Sockets stay open.
func (m systemdManager) Restart(ctx context.Context, job Job) error {
	bus, err := connect(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	name := job.service()
	_ = bus.ResetFailedUnitContext(ctx, name) // too many failures would count against this start
	return wait(ctx, "restart "+name, func(done chan<- string) error {
		_, err := bus.RestartUnitContext(ctx, name, "replace", done)
		return err
	})
}

// Uninstall ends a job and removes its files. Where systemd does not answer the files
// go all the same.
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
	for _, name := range job.units() {
		_ = bus.ResetFailedUnitContext(ctx, name) // which it may never have heard of
	}
	return did, nil
}

// end stops what a job consists of, and says so.
func (systemdManager) end(ctx context.Context, bus *systemd.Conn, job Job) (did []string, err error) {
	if job == Gateway { // first: without its socket systemd ends it, and not its sessions
		ended, err := endSessions(ctx, bus)
		if err != nil {
			return nil, err
		}
		if ended {
			did = append(did, "stopped the gateway and its sessions")
		}
	}
	for _, name := range []string{socketUnit, gatewayUnit, heartbeatTimer, heartbeatUnit} { // what starts another comes before it
		if !slices.Contains(job.units(), name) {
			continue
		}
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

// endSessions ends the gateway in the way that ends its sessions too: nothing would
// look after them any more. It reports whether there was one.
func endSessions(ctx context.Context, bus *systemd.Conn) (bool, error) {
	p, err := bus.GetUnitTypePropertiesContext(ctx, gatewayUnit, "Service")
	if err != nil { // it knows no such unit
		return false, nil //nolint:nilerr // and runs no gateway then
	}
	pid := int(number(p, "MainPID"))
	return pid > 0, interrupt(ctx, pid)
}

// installed lists the files of a job that are there.
func (m systemdManager) installed(job Job) []string {
	var paths []string
	for _, name := range job.units() {
		paths = append(paths, filepath.Join(m.dirs.unitDir(), name))
	}
	paths = append(paths, m.dirs.envFile(job, Spec{}))
	if job == Heartbeat {
		paths = append(paths, filepath.Join(m.dirs.Data, "systemd", "timers", "stamp-"+heartbeatTimer))
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !exists(path) })
}

// removeWithout removes files and what enables units where no systemd can.
func (m systemdManager) removeWithout(paths []string) (did []string, err error) {
	for _, path := range paths {
		links, err := filepath.Glob(filepath.Join(escapeGlob(m.dirs.unitDir()), "*.wants", filepath.Base(path)))
		if err != nil {
			return did, fmt.Errorf("look for what enables %s: %w", path, err)
		}
		for _, p := range append(links, path) {
			gone, err := remove(p)
			did = append(did, gone...)
			if err != nil {
				return did, err
			}
		}
		tidy(path)
	}
	return did, nil
}

// disableAndRemove takes units and the files that belong to them away.
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
		gone, err := remove(path)
		did = append(did, gone...)
		if err != nil {
			return did, err
		}
		tidy(path)
	}
	return did, nil
}

func startUnit(ctx context.Context, bus *systemd.Conn, name string) error {
	_ = bus.ResetFailedUnitContext(ctx, name) // too many failures would count against this start
	return wait(ctx, "start "+name, func(done chan<- string) error {
		_, err := bus.StartUnitContext(ctx, name, "replace", done)
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

// wait begins a job of systemd and waits for its end.
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

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// text is a property of a unit that is a string.
func text(p map[string]any, name string) string { s, _ := p[name].(string); return s }

// number is a property of a unit that is a number.
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
