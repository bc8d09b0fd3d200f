// Package service installs the gateway and the heartbeat as jobs of systemd or launchd.
// The installed files are a pure function of a [Spec]; a [Manager] writes and loads the
// files.
package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"bareclaw/internal/proc"
	"bareclaw/internal/statemark"
)

// A System is a kind of service manager.
type System string

// The supported service managers.
const (
	Systemd System = "systemd" // systemd's user instance: systemctl --user
	Launchd System = "launchd" // LaunchAgents of a user
)

// A Spec holds all inputs of the jobs' files. Paths are absolute.
type Spec struct {
	Binary   string        // bareclaw, at a permanent path
	Dir      string        // working directory, from where .env is read
	Path     string        // PATH; the default of a service manager often lacks claude
	Claude   string        // the CLI; empty for the echo agent
	StateDir string        // directory of the logs of launchd's jobs
	Interval time.Duration // of the heartbeat
	Settings []string      // further variables, NAME=value, as set at installation
	Listen   string        // HOST:PORT of the socket unit, for systemd to listen on; empty if the gateway listens itself
}

// Dirs holds the base directories of service files. Paths are absolute.
type Dirs struct {
	Home   string
	Config string // $XDG_CONFIG_HOME, or ~/.config
	Data   string // $XDG_DATA_HOME, or ~/.local/share; systemd stores timer stamps there
}

func (d Dirs) unitDir() string { return filepath.Join(d.Config, "systemd", "user") }

// plistPath returns the path of a job's plist in ~/Library/LaunchAgents, read by launchd
// at login.
func (d Dirs) plistPath(job Job) string {
	return filepath.Join(d.Home, "Library", "LaunchAgents", job.names().label+".plist")
}

func (d Dirs) envPath(job Job) string {
	return filepath.Join(d.Config, "bareclaw", job.names().envFile)
}

// A File is a file read by a service manager.
type File struct {
	Path string // absolute
	Mode fs.FileMode
	Text string
}

// A Status is the state of a job as known to a service manager.
type Status struct {
	System    System    `json:"system"`
	Installed bool      `json:"installed"`
	Current   bool      `json:"current"`             // the installed files are up to date; working directory and environment are not compared
	Active    bool      `json:"active"`              // the job or the timer is running
	State     string    `json:"state,omitempty"`     // state in the service manager's own words
	PID       int       `json:"pid,omitempty"`       // of the running process; 0 if unknown
	Since     time.Time `json:"since,omitzero"`      // start time; zero if unknown
	Restarts  int       `json:"restarts"`            // automatic restarts after failures; systemd only
	LastExit  string    `json:"last_exit,omitempty"` // how the last run ended; empty if unknown
	Next      time.Time `json:"next,omitzero"`       // next tick of the heartbeat; zero if unknown
	Problem   string    `json:"problem,omitempty"`   // the problem and how to fix the problem; empty if none
	Notes     []string  `json:"notes,omitempty"`     // remarks that are not problems

	Dir     string   `json:"-"` // installed working directory; empty if unknown
	Environ []string `json:"-"` // installed environment as NAME=value; may hold secrets
}

// An Inspector looks at the jobs of the user's service manager. Calls block until the service
// manager answers or ctx ends.
type Inspector interface {
	// System returns the kind of the service manager.
	System() System
	// Available returns why the service manager cannot be used, nil if the service
	// manager answers.
	Available(ctx context.Context) error
	// Status returns the state of a job, compared with the files for spec.
	Status(ctx context.Context, job Job, spec Spec) (Status, error)
}

// A Launcher also starts jobs.
type Launcher interface {
	Inspector
	// Start starts the gateway and returns when the gateway is ready, or runs a single
	// tick.
	Start(ctx context.Context, job Job) error
}

// A Manager is the service manager of this user.
type Manager interface {
	Launcher
	// Stop ends the gateway or the heartbeat's timer, and returns after the end.
	// Sessions continue, files remain, and the next login or boot starts the job again.
	Stop(ctx context.Context, job Job) error
	// Restart restarts the gateway and returns when the gateway is ready. Sessions
	// continue.
	Restart(ctx context.Context, job Job) error
	// Install writes a job's files and starts the job or the job's timer, unless all are
	// up to date. The error wraps [ErrHeld] if only the start failed. Install and Uninstall
	// return the actions taken, one line per action, even with an error.
	Install(ctx context.Context, job Job, spec Spec) ([]string, error)
	// Uninstall ends a job and removes the job's files. The sessions of the gateway end
	// too.
	Uninstall(ctx context.Context, job Job) ([]string, error)
}

// Native returns the kind of service manager of this operating system.
func Native() System {
	if runtime.GOOS == "darwin" {
		return Launchd
	}
	return Systemd
}

// Local returns the service manager of this user on this machine. [Launcher.Available]
// reports whether the service manager is running.
func Local() Manager { return For(Native()) }

// For returns the service manager of this user of the given kind.
func For(system System) Manager {
	if system == Launchd {
		return launchdManager{LocalDirs()}
	}
	return systemdManager{LocalDirs()}
}

// StartsAtBoot reports whether the jobs of this user begin when the machine boots; else they begin
// when the user logs in.
func StartsAtBoot(system System) bool { return system == Systemd && lingers() }

// LocalDirs returns the directories of this user's service files. Without an absolute $HOME,
// the home directory is that of the user's account, as for the service manager.
func LocalDirs() Dirs {
	home := os.Getenv("HOME")
	if account, err := user.Current(); err == nil && !filepath.IsAbs(home) {
		home = account.HomeDir
	}
	home = filepath.Join("/", home)
	base := func(variable, otherwise string) string { // the XDG Base Directory Specification requires ignoring a relative path
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Clean(dir)
		}
		return filepath.Join(home, otherwise)
	}
	return Dirs{Home: home, Config: base("XDG_CONFIG_HOME", ".config"), Data: base("XDG_DATA_HOME", ".local/share")}
}

// ErrHeld is wrapped in the error of an installation that is complete except for the
// start: a gateway outside the service manager holds the lock of the state directory.
var ErrHeld = errors.New("a gateway that is not the service's has the state directory")

// TakeOver resolves [ErrHeld]: TakeOver ends a gateway that was not started by the
// service manager with SIGTERM, waits for the exit, and starts the job instead. Sessions
// continue. TakeOver returns the actions taken.
func TakeOver(ctx context.Context, m Launcher, spec Spec) ([]string, error) {
	var did []string
	if h, held, _ := statemark.Gateway(spec.StateDir); held {
		if err := proc.Signal(h.PID, h.Start, syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return did, fmt.Errorf("tell the gateway with pid %d to leave: %w", h.PID, err)
		}
		if err := proc.WaitGone(ctx, h.PID, h.Start); err != nil {
			return did, fmt.Errorf("wait until the gateway with pid %d has left: %w", h.PID, err)
		}
		did = append(did, fmt.Sprintf("stopped the gateway with pid %d; its sessions go on", h.PID))
	}
	if err := m.Start(ctx, Gateway); err != nil {
		return did, err
	}
	s, err := m.Status(ctx, Gateway, spec)
	if err != nil {
		return did, err
	}
	return append(did, fmt.Sprintf("started the service, pid %d", s.PID)), nil
}

// interrupt ends the gateway with the given pid and all sessions through SIGINT, as
// Ctrl-C does, and waits for the exit. interrupt ignores a pid of 0.
func interrupt(ctx context.Context, pid int) error {
	if pid == 0 {
		return nil
	}
	start, err := proc.StartTime(pid)
	if err == nil {
		err = proc.Signal(pid, start, syscall.SIGINT)
	}
	if err == nil {
		err = proc.WaitGone(ctx, pid, start)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the gateway with pid %d and its sessions: %w", pid, err)
	}
	return nil
}
