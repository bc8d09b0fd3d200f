// Package service has systemd or launchd run the gateway and its heartbeat: what
// their files say is a pure function of a [Spec], and a [Manager] puts them in place.
package service

import (
	"context"
	"io/fs"
	"time"
)

// A System is a service manager.
type System string

// The service managers.
const (
	Systemd System = "systemd" // of a user: systemctl --user
	Launchd System = "launchd" // LaunchAgents of a user
)

// A Job is what a service manager is to run.
type Job string

// The jobs.
const (
	Gateway   Job = "gateway"   // the daemon, always
	Heartbeat Job = "heartbeat" // `bareclaw heartbeat run`, once in an interval
)

// A Spec is all that the files of the jobs are made of. Paths are absolute.
type Spec struct {
	Binary   string        // bareclaw; it must be there to stay
	Dir      string        // working directory, whose .env is read
	Path     string        // PATH, of which a service manager's often lacks claude
	Claude   string        // the CLI; empty for the echo agent
	StateDir string        // where launchd's jobs write what they say
	EnvFile  string        // settings of the job, readable by the user alone; for systemd. Empty for the job's own in the configuration directory
	Interval time.Duration // of the heartbeat
	Settings []string      // further variables, NAME=value, as they were set at installation
	Listen   string        // HOST:PORT that systemd listens on for the gateway; empty where it does so itself
}

// Dirs are where files of service managers are. Paths are absolute.
type Dirs struct {
	Home   string
	Config string // $XDG_CONFIG_HOME, or ~/.config
	Data   string // $XDG_DATA_HOME, or ~/.local/share; systemd notes there when a timer elapsed
}

// A File is one that a service manager reads.
type File struct {
	Path string // absolute
	Mode fs.FileMode
	Text string
}

// A Status is what a service manager knows of a job.
type Status struct {
	System    System    `json:"system"`
	Installed bool      `json:"installed"`
	Current   bool      `json:"current"`             // its files say what they should; where and with which environment it was installed is not compared
	Active    bool      `json:"active"`              // it runs, or its timer does
	State     string    `json:"state,omitempty"`     // the same in the manager's own words
	PID       int       `json:"pid,omitempty"`       // of the running process; 0 if none is known
	Since     time.Time `json:"since,omitzero"`      // when it was started; zero if that is not known
	Restarts  int       `json:"restarts"`            // by the manager itself, of failed ones; systemd only
	LastExit  string    `json:"last_exit,omitempty"` // how the last run ended; empty if that is not known
	Next      time.Time `json:"next,omitzero"`       // of the heartbeat; zero if that is not known
	Problem   string    `json:"problem,omitempty"`   // what is wrong, and what to do; empty if nothing is
	Notes     []string  `json:"notes,omitempty"`     // what is worth knowing and no problem

	Dir     string   `json:"-"` // where it was installed to work; empty if that is not known
	Environ []string `json:"-"` // NAME=value, with which it was installed; they may be secret
}

// An Inspector tells how the service manager of this user is, and its jobs. Calls of a
// service manager block for as long as the manager takes, or until ctx ends.
type Inspector interface {
	// System names the service manager.
	System() System
	// Available returns why the service manager cannot be used, nil if it answers.
	Available(ctx context.Context) error
	// Status tells how a job is, compared with a spec.
	Status(ctx context.Context, job Job, spec Spec) (Status, error)
}

// An Installer installs and removes jobs. Its methods return what they did, a line each,
// also with an error.
type Installer interface {
	// Install puts a job's files in place and starts the job, or its timer, unless all is
	// so already. The error holds [ErrHeld] if only the start is missing.
	Install(ctx context.Context, job Job, spec Spec) ([]string, error)
	// Uninstall ends a job, the gateway with its sessions, and removes its files.
	Uninstall(ctx context.Context, job Job) ([]string, error)
}

// A Starter starts and ends jobs that stay installed.
type Starter interface {
	// Start starts the gateway and returns when it is ready, or carries out one tick.
	Start(ctx context.Context, job Job) error
	// Stop ends the gateway, or the heartbeat's timer, and returns when it has ended.
	// Sessions go on, files stay, and the next login or boot starts the job again.
	Stop(ctx context.Context, job Job) error
	// Restart ends the gateway, starts it, and returns when it is ready. Sessions go on.
	Restart(ctx context.Context, job Job) error
}

// A Launcher finds a job and starts it.
type Launcher interface {
	Inspector
	Start(ctx context.Context, job Job) error
}

// A Manager is the service manager of this user.
type Manager interface {
	Inspector
	Installer
	Starter
}
