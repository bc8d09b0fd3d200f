package service

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"bareclaw/internal/samefile"
	"bareclaw/internal/statemark"
)

// systemdManager manages jobs through the user instance of systemd.
type systemdManager struct{ dirs Dirs }

// System returns Systemd.
func (systemdManager) System() System { return Systemd }

func (m systemdManager) with(ctx context.Context, do func(bus) error) error {
	b, err := connect(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	return do(b)
}

// Available returns why the user's systemd cannot be reached.
func (m systemdManager) Available(ctx context.Context) error {
	return m.with(ctx, func(bus) error { return nil })
}

// Install writes a job's files, then enables and starts the job's first unit.
func (m systemdManager) Install(ctx context.Context, job Job, spec Spec) (did []string, err error) {
	files, err := Files(Systemd, job, spec, m.dirs)
	if err != nil {
		return nil, err
	}
	err = m.with(ctx, func(b bus) error {
		i := &installation{bus: b, manager: m, dir: m.dirs.unitDir(), job: job}
		err := i.run(ctx, files, spec)
		did = i.did
		return err
	})
	return did, err
}

// An installation is the state of a single call of Install.
type installation struct {
	bus
	manager systemdManager
	dir     string // of the units
	job     Job
	did     []string
	changed []string // names of the files that were written
	units   []string // units to install, the unit to start first
}

func (i *installation) run(ctx context.Context, files []File, spec Spec) (err error) {
	if i.did, i.changed, err = place(files); err != nil {
		return err
	}
	for _, f := range files {
		if name := filepath.Base(f.Path); slices.Contains(i.job.names().units, name) {
			i.units = append(i.units, name)
		}
	}
	if err := i.dropSocket(ctx); err != nil {
		return err
	}
	if err := i.reload(ctx); err != nil {
		return err
	}
	if err := i.enable(ctx); err != nil {
		return err
	}
	return i.launch(ctx, spec)
}

// dropSocket removes the socket unit of an earlier installation if the new installation
// has none: systemd would keep listening on the socket.
func (i *installation) dropSocket(ctx context.Context) error {
	paths := i.manager.unitFiles(socketUnit)
	if i.job != Gateway || slices.Contains(i.units, socketUnit) || len(paths) == 0 {
		return nil
	}
	i.changed = append(i.changed, socketUnit)
	if err := i.stop(ctx, gatewayUnit, socketUnit); err != nil {
		return err
	}
	did, err := remove(paths...)
	i.did = append(i.did, did...)
	return err
}

// enable has the job's units start with the user's systemd, which must have loaded exactly
// the files that were written.
func (i *installation) enable(ctx context.Context) error {
	var names []string
	for _, name := range i.units {
		u, err := i.unit(ctx, name)
		if err != nil {
			return err
		}
		want := filepath.Join(i.dir, name)
		switch have, state := u.text("FragmentPath"), u.text("LoadState"); {
		case state == "masked":
			return fmt.Errorf("%s is masked; run `systemctl --user unmask %s`, and install again", name, name)
		case !samefile.Paths(have, want):
			return fmt.Errorf("systemd reads %q for %s, not %s: is XDG_CONFIG_HOME or HOME here another one than systemd's own?", have, name, want)
		case state != "loaded":
			return fmt.Errorf("systemd does not take %s (%s); `systemd-analyze --user verify %s` says why", want, state, want)
		}
		if state := u.text("UnitFileState"); state != "enabled" && state != "static" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if _, _, err := i.EnableUnitFilesContext(ctx, names, false, true); err != nil {
		return fmt.Errorf("enable %v: %w", names, err)
	}
	for _, name := range names {
		i.did = append(i.did, "enabled "+name)
	}
	return i.reload(ctx)
}

func (i *installation) launch(ctx context.Context, spec Spec) error {
	name := i.units[0]
	u, err := i.unit(ctx, name)
	if err != nil {
		return err
	}
	active := u.text("ActiveState") == "active"
	outdated := len(i.changed) > 0
	if i.job == Heartbeat { // systemd reads the service anew for each tick; only the timer keeps running
		outdated = slices.Contains(i.changed, heartbeatTimer)
	}
	if i.job == Gateway && !active {
		if h, held, _ := statemark.Gateway(spec.StateDir); held && h.PID != u.number("MainPID") { // the holder may be the service's own process, not yet ready
			return fmt.Errorf("%w: pid %d, at %s; the service is enabled, and starts with the next login or boot", ErrHeld, h.PID, h.Address)
		}
	}
	verb := "started "
	switch {
	case active && !outdated:
		verb = "runs already: "
	case active && !slices.Contains(i.changed, socketUnit):
		verb = "restarted "
		err = i.restart(ctx, name)
	default:
		if active { // the gateway and systemd exchange the listening address, in either direction
			err = i.stop(ctx, gatewayUnit, socketUnit)
		}
		if err == nil {
			err = i.start(ctx, name)
		}
	}
	if err == nil {
		u, err = i.unit(ctx, name)
	}
	if err != nil {
		return err
	}
	line := verb + name
	if i.job == Gateway {
		line += fmt.Sprintf(", pid %d", u.number("MainPID"))
	}
	i.did = append(i.did, line)
	return nil
}

// Start starts the gateway now, or runs a single tick of the heartbeat.
func (m systemdManager) Start(ctx context.Context, job Job) error {
	return m.with(ctx, func(b bus) error { return b.start(ctx, job.names().service) })
}

// Stop stops the units of a job.
func (m systemdManager) Stop(ctx context.Context, job Job) error {
	return m.with(ctx, func(b bus) error {
		err := b.stop(ctx, job.names().stopped...)
		for _, name := range job.names().stopped {
			_ = b.ResetFailedUnitContext(ctx, name) // a unit killed while stopping has not failed
		}
		return err
	})
}

// Restart restarts the service unit of a job. Sockets stay open.
func (m systemdManager) Restart(ctx context.Context, job Job) error {
	return m.with(ctx, func(b bus) error {
		return b.restart(ctx, job.names().service)
	})
}

// Uninstall ends a job and removes the job's files. If systemd cannot be reached, only
// the files are removed.
func (m systemdManager) Uninstall(ctx context.Context, job Job) (did []string, err error) {
	paths := m.installed(job)
	if len(paths) == 0 {
		return []string{"the " + string(job) + " is not installed: nothing to remove"}, nil
	}
	reached := false
	err = m.with(ctx, func(b bus) (err error) {
		reached = true
		if did, err = b.end(ctx, job); err != nil {
			return err
		}
		gone, err := remove(paths...)
		if did = append(did, gone...); err != nil {
			return err
		}
		err = b.reload(ctx)
		for _, name := range job.names().units {
			_ = b.ResetFailedUnitContext(ctx, name) // fails harmlessly for a unit unknown to systemd
		}
		return err
	})
	if reached {
		return did, err
	}
	did, errRemove := remove(paths...)
	return append(did, "systemd was not told: "+err.Error()), errRemove
}

// end stops the units of a job and returns a line for each stopped unit. The gateway's
// sessions end too, because no gateway would manage the sessions any more.
func (b bus) end(ctx context.Context, job Job) (did []string, err error) {
	if job == Gateway { // first, because stopping the socket would end the gateway and leave the sessions
		u, _ := b.unit(ctx, gatewayUnit) // an unknown unit runs no gateway
		if pid := u.number("MainPID"); pid > 0 {
			if err := interrupt(ctx, pid); err != nil {
				return nil, err
			}
			did = append(did, "stopped the gateway and its sessions")
		}
	}
	for _, name := range job.names().stopped {
		u, _ := b.unit(ctx, name)
		if !slices.Contains([]string{"active", "activating", "reloading"}, u.text("ActiveState")) {
			continue
		}
		if err := b.stop(ctx, name); err != nil {
			return did, err
		}
		did = append(did, "stopped "+name)
	}
	return did, nil
}

func (m systemdManager) installed(job Job) []string {
	var paths []string
	for _, name := range job.names().units {
		paths = append(paths, m.unitFiles(name)...)
	}
	paths = append(paths, m.dirs.envPath(job)) // after the units, which name the file
	if job == Heartbeat {
		paths = append(paths, filepath.Join(m.dirs.Data, "systemd", "timers", "stamp-"+heartbeatTimer))
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !exists(path) })
}

// unitFiles returns the file of an installed unit, and the links by which systemd starts the
// unit.
func (m systemdManager) unitFiles(name string) []string {
	dir := escapeGlob(m.dirs.unitDir())
	links, _ := filepath.Glob(filepath.Join(dir, "*.[wr]*s", name)) // *.wants and *.requires; the pattern is valid
	file, _ := filepath.Glob(filepath.Join(dir, name))
	return append(links, file...)
}
