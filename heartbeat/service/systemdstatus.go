package service

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Status returns the state of a job.
func (m systemdManager) Status(ctx context.Context, job Job, spec Spec) (Status, error) {
	names := job.names()
	s := Status{System: Systemd, Installed: exists(filepath.Join(m.dirs.unitDir(), names.units[0]))}
	var outdated string
	if s.Installed {
		outdated = m.dirs.outdated(Systemd, job, m.asInstalled(job, spec))
		s.Current = outdated == ""
	}
	err := m.with(ctx, func(b bus) error {
		first, err := b.unit(ctx, names.units[0])
		if err != nil {
			return err
		}
		s.State = first.text("ActiveState") + " (" + first.text("SubState") + ")"
		if s.Active = first.text("ActiveState") == "active"; s.Active {
			s.Since = first.time("ActiveEnterTimestamp")
		}
		if first.text("LoadState") != "not-found" {
			process, err := b.unit(ctx, names.service)
			if err != nil {
				return err
			}
			s.Next = first.nextElapse() // of the heartbeat's timer
			s.PID, s.Restarts, s.LastExit = process.number("MainPID"), process.number("NRestarts"), process.lastExit()
			s.addUnit(process)
		}
		if s.Installed {
			s.Problem = problemOf(names, s, first)
			if s.Problem == "" && !s.Current {
				s.Problem = problemOutdated(names, outdated)
			}
			if !lingers() {
				s.Notes = append(s.Notes, "It starts when you log in and ends some time after you have logged out. To have it from boot on, run `loginctl enable-linger`.")
			}
		}
		return nil
	})
	return s, err
}

// lastExit describes how a service's process last ended; empty if the process never
// ended.
func (u unit) lastExit() string {
	const exited, killed, dumped = 1, 2, 3 // CLD_… of waitid(2)
	at, status := u.time("ExecMainExitTimestamp"), u.number("ExecMainStatus")
	var how string
	switch code := u.number("ExecMainCode"); {
	case at.IsZero():
		return ""
	case code == exited:
		how = fmt.Sprintf("exit status %d", status)
	case code == killed, code == dumped:
		how = "killed by " + unix.SignalName(unix.Signal(status))
	default:
		return ""
	}
	if result := u.text("Result"); result != "success" && result != "" && result != "exit-code" && result != "signal" {
		how += " (" + result + ")"
	}
	return how + " at " + at.Format(time.RFC3339)
}

// nextElapse returns the next time at which a timer elapses, zero for any other unit. Timers
// relative to boot or to the last run use CLOCK_MONOTONIC, a clock that pauses while the
// machine sleeps.
func (u unit) nextElapse() time.Time {
	next := u.time("NextElapseUSecRealtime")
	if usec := u.number("NextElapseUSecMonotonic"); usec > 0 && usec < math.MaxInt64 {
		var now unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) == nil {
			at := time.Now().Add(time.Duration(usec)*time.Microsecond - time.Duration(now.Nano()))
			if next.IsZero() || at.Before(next) {
				next = at.Round(time.Second)
			}
		}
	}
	return next
}

// asInstalled returns spec with the working directory of the installed job, because the caller
// may run in another one, and with the address that systemd listens on.
func (m systemdManager) asInstalled(job Job, spec Spec) Spec {
	text := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(m.dirs.unitDir(), name)) // none says nothing
		return string(b)
	}
	spec.Dir = cmp.Or(strings.ReplaceAll(setting(text(job.names().service), "WorkingDirectory"), "%%", "%"), spec.Dir)
	if job == Gateway {
		spec.Listen = cmp.Or(spec.Listen, setting(text(socketUnit), "ListenStream"))
	}
	return spec
}

func setting(unit, name string) string {
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSuffix(value, "\n")
		}
	}
	return ""
}

func problemOutdated(names naming, outdated string) string {
	return fmt.Sprintf("What is installed differs from what this program would install here: %s. Run `%s` where the gateway's .env is.", outdated, names.install)
}

// problemOf describes why an installed job does not run, or would not; empty if it does.
func problemOf(names naming, s Status, first unit) string {
	switch name, state := names.units[0], first.text("ActiveState"); {
	case state == "failed":
		return fmt.Sprintf("%s has failed and is not tried any more (last: %s). The log says why; when that is mended run `%s`.", name, s.LastExit, names.start)
	case state == "activating":
		return fmt.Sprintf("%s is being started (restarts so far: %d; last: %s).", name, s.Restarts, s.LastExit)
	case !s.Active:
		return fmt.Sprintf("%s is installed and does not run. Run `%s`.", name, names.start)
	case first.text("UnitFileState") != "enabled":
		return fmt.Sprintf("%s does not start by itself. Run `%s`.", name, names.install)
	}
	return ""
}

func lingers() bool {
	u, err := user.Current()
	return err == nil && exists(filepath.Join("/var/lib/systemd/linger", filepath.Base(u.Username)))
}
