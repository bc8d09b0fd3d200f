package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// machine holds the directories and the user for resolving paths.
type machine struct {
	home      string // empty if unknown
	cwd       string // the daemon's own working directory
	stateHome string // $XDG_STATE_HOME
	configDir string // of the user's settings; empty if unknown
	runtime   string // $XDG_RUNTIME_DIR
	uid       int
}

// machineAt returns the present machine for a process with a working directory and an
// environment.
func machineAt(cwd string, getenv func(string) string) machine {
	home := getenv("HOME")
	return machine{
		home:      home,
		cwd:       cwd,
		stateHome: getenv("XDG_STATE_HOME"),
		configDir: configDir(getenv("XDG_CONFIG_HOME"), home),
		runtime:   getenv("XDG_RUNTIME_DIR"),
		uid:       os.Getuid(),
	}
}

// absolute expands a leading ~ and resolves a relative path against base.
func (m machine) absolute(path, base string) (string, error) {
	if err := checkPath(path); err != nil {
		return "", err
	}
	if rest, isBelowHome := strings.CutPrefix(path, "~"); isBelowHome {
		if !filepath.IsAbs(m.home) {
			return "", errors.New("~ stands for $HOME, which is not an absolute path")
		}
		path = m.home + rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path), nil
}

// path is absolute with the daemon's working directory as the base.
func (m machine) path(path string) (string, error) { return m.absolute(path, m.cwd) }

// directory is path for an existing directory.
func (m machine) directory(path string) (string, error) {
	path, err := m.path(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s does not exist", quoted(path))
	case err != nil:
		return "", fmt.Errorf("%s cannot be read: %w", quoted(path), reason(err))
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a directory", quoted(path))
	}
	return path, nil
}

// configDir returns the directory of the user's settings, empty if unknown. By the XDG Base
// Directory Specification a relative $XDG_CONFIG_HOME is ignored.
func configDir(configHome, home string) string {
	if !filepath.IsAbs(configHome) {
		if !filepath.IsAbs(home) {
			return ""
		}
		configHome = filepath.Join(home, ".config")
	}
	return filepath.Join(configHome, "bareclaw")
}

// stateDir returns the default state directory, by the XDG Base Directory Specification: a
// relative $XDG_STATE_HOME is ignored.
func (m machine) stateDir() (string, error) {
	if filepath.IsAbs(m.stateHome) {
		return filepath.Join(m.stateHome, "bareclaw"), nil
	}
	return m.path("~/.local/state/bareclaw")
}

// runtimeDir returns the default runtime directory. $XDG_RUNTIME_DIR is inherited by su and
// sudo and outlives a logout in a long-running process; runtimeDir ignores the variable
// unless the directory exists and belongs to the user.
func (m machine) runtimeDir(stateDir string) string {
	info, err := os.Stat(m.runtime)
	if filepath.IsAbs(m.runtime) && err == nil && info.IsDir() && ownerOf(info) == m.uid {
		return filepath.Join(m.runtime, "bareclaw")
	}
	return filepath.Join(stateDir, "run")
}

// ownerOf returns the user id of a file's owner, -1 if unknown.
func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// reason returns the cause of a file error without the path repeated by the error.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
