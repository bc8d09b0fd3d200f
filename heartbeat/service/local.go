package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Native returns the kind of service manager of this operating system.
func Native() System {
	if runtime.GOOS == "darwin" {
		return Launchd
	}
	return Systemd
}

// Local returns the service manager of this user on this machine. [Inspector.Available]
// reports whether the service manager is running.
func Local() Manager { return For(Native()) }

// For returns the service manager of this user of the given kind.
func For(system System) Manager {
	dirs, err := LocalDirs()
	if dirs.missing = err; system == Launchd {
		return launchdManager{dirs: dirs}
	}
	return systemdManager{dirs: dirs}
}

// LocalDirs returns the directories of this user's service files.
func LocalDirs() (Dirs, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Dirs{}, fmt.Errorf("find where service files are: %w", err)
	}
	if !filepath.IsAbs(home) {
		return Dirs{}, fmt.Errorf("find where service files are: $HOME, %q, is not an absolute path", home)
	}
	base := func(variable, otherwise string) string { // the XDG Base Directory Specification requires ignoring a relative path
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Clean(dir)
		}
		return filepath.Join(home, otherwise)
	}
	return Dirs{Home: filepath.Clean(home), Config: base("XDG_CONFIG_HOME", ".config"), Data: base("XDG_DATA_HOME", ".local/share")}, nil
}

// WorkingDir returns the default working directory of a service, from where the service
// reads .env: the current directory if a .env exists there, else the user's home.
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

// ErrHeld is wrapped in the error of an installation that is complete except for the
// start: a gateway outside the service manager holds the lock of the state directory.
var ErrHeld = errors.New("a gateway that is not the service's has the state directory")
