package service

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"golang.org/x/sys/unix"
)

// Status returns the state of a job.
func (m systemdManager) Status(ctx context.Context, job Job, spec Spec) (Status, error) {
	s := Status{System: Systemd, Installed: exists(filepath.Join(m.dirs.unitDir(), job.names().units[0]))}
	var outdated string
	if s.Installed {
		outdated = m.outdated(job, spec)
		s.Current = outdated == ""
	}
	bus, err := connect(ctx)
	if err != nil {
		return s, err
	}
	defer bus.Close()
	unit, err := properties(ctx, bus, job.names().units[0], "")
	if err != nil {
		return s, err
	}
	s.Active = text(unit, "ActiveState") == "active"
	s.State = text(unit, "ActiveState") + " (" + text(unit, "SubState") + ")"
	if s.Active {
		s.Since = microseconds(unit, "ActiveEnterTimestamp")
	}
	if text(unit, "LoadState") != "not-found" {
		if err := s.addProcess(ctx, bus, job); err != nil {
			return s, err
		}
	}
	if s.Installed {
		s.Problem = problemOf(job, s, unit, outdated)
		if !lingers() {
			s.Notes = append(s.Notes, "It starts when you log in and ends some time after you have logged out. To have it from boot on, run `loginctl enable-linger`.")
		}
	}
	return s, nil
}

// addProcess records the properties of the job's process and of the heartbeat's timer.
func (s *Status) addProcess(ctx context.Context, bus *systemd.Conn, job Job) error {
	if job == Heartbeat {
		timer, err := properties(ctx, bus, heartbeatTimer, "Timer")
		if err != nil {
			return err
		}
		s.Next = nextElapse(timer)
	}
	p, err := properties(ctx, bus, job.names().service, "Service")
	if err != nil {
		return err
	}
	s.PID, s.Restarts = int(number(p, "MainPID")), int(number(p, "NRestarts"))
	s.LastExit = lastExit(p)
	s.addUnit(p)
	return nil
}

// lastExit describes how a service's process last ended; empty if the process never
// ended.
func lastExit(p map[string]any) string {
	const exited, killed, dumped = 1, 2, 3 // CLD_… of waitid(2)
	at := microseconds(p, "ExecMainExitTimestamp")
	if at.IsZero() {
		return ""
	}
	status := number(p, "ExecMainStatus")
	var how string
	switch number(p, "ExecMainCode") {
	case exited:
		how = fmt.Sprintf("exit status %d", status)
	case killed, dumped:
		how = "killed by " + unix.SignalName(unix.Signal(status))
	default:
		return ""
	}
	if result := text(p, "Result"); result != "success" && result != "" && result != "exit-code" && result != "signal" {
		how += " (" + result + ")"
	}
	return how + " at " + at.Format(time.RFC3339)
}

// nextElapse returns the next time at which a timer elapses. Timers relative to boot or
// to the last run use CLOCK_MONOTONIC, a clock that pauses while the machine sleeps.
func nextElapse(p map[string]any) time.Time {
	next := microseconds(p, "NextElapseUSecRealtime")
	if usec := number(p, "NextElapseUSecMonotonic"); usec > 0 && usec < math.MaxInt64 {
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

// microseconds returns a property of type time, zero if unset.
func microseconds(p map[string]any, name string) time.Time {
	if usec := number(p, name); usec > 0 && usec < math.MaxInt64 {
		return time.UnixMicro(usec)
	}
	return time.Time{}
}

// outdated lists the installed files that differ from the files for spec, empty if none
// does. The installed working directory and environment are not compared, because the
// caller may run in another directory and environment.
func (m systemdManager) outdated(job Job, spec Spec) string {
	if spec.Listen == "" && job == Gateway {
		spec.Listen = setting(m.read(socketUnit), "ListenStream")
	}
	files, err := Files(Systemd, job, spec, m.dirs)
	if err != nil {
		return err.Error()
	}
	return differing(files, m.dirs.envPath(job, spec), func(f File, have string) bool {
		dir := "WorkingDirectory=" + setting(have, "WorkingDirectory")
		return have == strings.Replace(f.Text, "WorkingDirectory="+setting(f.Text, "WorkingDirectory"), dir, 1)
	})
}

// read returns the text of an installed unit, empty if the unit cannot be read.
func (m systemdManager) read(name string) string {
	b, err := os.ReadFile(filepath.Join(m.dirs.unitDir(), name))
	if err != nil {
		return ""
	}
	return string(b)
}

// setting returns the raw value of a setting in the text of a unit.
func setting(unit, name string) string {
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSuffix(value, "\n")
		}
	}
	return ""
}

// problemOutdated describes installed files that are not up to date.
func problemOutdated(job Job, outdated string) string {
	return fmt.Sprintf("What is installed differs from what this program would install here: %s. Run `%s` where the gateway's .env is.", outdated, job.names().install)
}

func problemOf(job Job, s Status, unit map[string]any, outdated string) string {
	name := job.names().units[0]
	enabled := text(unit, "UnitFileState") == "enabled"
	switch {
	case text(unit, "ActiveState") == "failed":
		return fmt.Sprintf("%s has failed and is not tried any more (last: %s). The log says why; when that is mended run `%s`.", name, s.LastExit, job.names().start)
	case !s.Active && text(unit, "ActiveState") == "activating":
		return fmt.Sprintf("%s is being started (restarts so far: %d; last: %s).", name, s.Restarts, s.LastExit)
	case !s.Active:
		return fmt.Sprintf("%s is installed and does not run. Run `%s`.", name, job.names().start)
	case !enabled:
		return fmt.Sprintf("%s does not start by itself. Run `%s`.", name, job.names().install)
	case !s.Current:
		return problemOutdated(job, outdated)
	}
	return ""
}

// lingers reports whether the user's systemd runs without a login.
func lingers() bool {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name != "" && exists(filepath.Join("/var/lib/systemd/linger", filepath.Base(name)))
}
