package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Native returns the service manager that systems of this kind have.
func Native() System {
	if runtime.GOOS == "darwin" {
		return Launchd
	}
	return Systemd
}

// Local returns the service manager of this user on this machine. Whether it is there
// is for [Inspector.Available] to say.
func Local() Manager { return For(Native()) }

// For returns a service manager of this user, by its kind.
func For(system System) Manager {
	dirs, err := LocalDirs()
	switch {
	case err != nil:
		return absent{system, err}
	case system == Systemd:
		return systemdManager{dirs: dirs}
	case system == Launchd:
		return launchdManager{dirs: dirs}
	}
	return absent{system, fmt.Errorf("there is no service manager %q", system)}
}

// LocalDirs returns where this user's files of service managers are.
func LocalDirs() (Dirs, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Dirs{}, fmt.Errorf("find where service files are: %w", err)
	}
	if !filepath.IsAbs(home) {
		return Dirs{}, fmt.Errorf("find where service files are: $HOME, %q, is not an absolute path", home)
	}
	base := func(variable, otherwise string) string { // by the XDG Base Directory Specification a relative one is ignored
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Clean(dir)
		}
		return filepath.Join(home, otherwise)
	}
	return Dirs{Home: filepath.Clean(home), Config: base("XDG_CONFIG_HOME", ".config"), Data: base("XDG_DATA_HOME", ".local/share")}, nil
}

// WorkingDir returns the directory that a service works in, and whose .env it reads,
// unless another one is chosen: this one if there is a .env in it, else the user's home.
func WorkingDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".env")); err == nil {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the working directory: there is no .env in %s, and %w", dir, err)
	}
	return home, nil
}

// absent is a manager that cannot be had.
type absent struct {
	system System
	why    error
}

// System names the one that is not there.
func (a absent) System() System { return a.system }

// Available returns why it is not.
func (a absent) Available(context.Context) error { return a.why }

// Install cannot be.
func (a absent) Install(context.Context, Job, Spec) ([]string, error) { return nil, a.why }

// Uninstall cannot be.
func (a absent) Uninstall(context.Context, Job) ([]string, error) { return nil, a.why }

// Status cannot be told.
func (a absent) Status(context.Context, Job, Spec) (Status, error) {
	return Status{System: a.system}, a.why
}

// Start cannot be.
func (a absent) Start(context.Context, Job) error { return a.why }

// Stop cannot be.
func (a absent) Stop(context.Context, Job) error { return a.why }

// Restart cannot be.
func (a absent) Restart(context.Context, Job) error { return a.why }

// ErrHeld is in the error of an installation that is complete but for the start: a
// gateway that the service manager did not start has the state directory.
var ErrHeld = errors.New("a gateway that is not the service's has the state directory")
