package service

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/core/config"
	"bareclaw/internal/getclaude"
)

// A Request holds the inputs of [NewSpec].
type Request struct {
	Binary   string        // the program, absolute
	Chosen   bool          // the user chose Binary explicitly: any location is allowed
	Dir      string        // working directory, absolute
	Environ  []string      // the environment before loading any .env, since the job loads .env itself
	Claude   string        // name or path of the CLI
	Echo     bool          // use the echo agent and no CLI
	StateDir string        // absolute
	Interval time.Duration // of the heartbeat
	Listen   string        // HOST:PORT for systemd to listen on; empty for none
}

// ErrNoClaude is wrapped in the error of a Request whose CLI cannot be found.
var ErrNoClaude = errors.New("claude was not found")

// NewSpec locates the files that the jobs need and returns the Spec. NewSpec only reads
// the disk. The error joins all missing prerequisites, each with the remedy.
func NewSpec(r Request) (Spec, error) {
	path := searchPath(r.Environ)
	s := Spec{
		Binary:   r.Binary,
		Dir:      r.Dir,
		Path:     path,
		StateDir: r.StateDir,
		Interval: r.Interval,
		Settings: settings(r.Environ),
		Listen:   r.Listen,
	}
	problems := []error{Lasting(r.Binary)}
	if r.Chosen {
		problems[0] = executable(r.Binary)
	}
	if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() {
		problems = append(problems, fmt.Errorf("the working directory %s is not a directory", r.Dir))
	}
	if !r.Echo {
		var err error
		s.Claude, err = findClaude(r.Claude, path)
		problems = append(problems, err)
	}
	return s, errors.Join(problems...)
}

// findClaude returns the absolute path of the CLI. Symbolic links are not resolved,
// because an update of claude replaces the targets.
func findClaude(name, path string) (string, error) {
	var err error
	if !strings.ContainsRune(name, '/') {
		for _, dir := range filepath.SplitList(path) {
			if found := filepath.Join(dir, name); executable(found) == nil {
				return found, nil
			}
		}
		err = exec.ErrNotFound
	} else if name, err = filepath.Abs(name); err == nil {
		if err = executable(name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w (looked for %q: %w): install it with %s and run `claude` once to log in, "+
		"set BARECLAW_CLAUDE to its path, or ask for `--agent echo` if the echo agent is what you want", ErrNoClaude, name, err, getclaude.Advice)
}

// Lasting returns an error if the program at path is missing or lies in a directory
// whose files are deleted over time. A binary that a restart built in the state
// directory is permanent, and every later restart builds in the same place.
func Lasting(path string) error { return lastingOutside(temporary(), path) }

func lastingOutside(temporary []string, path string) error {
	const advice = "build it where it can stay, with `go build -o ~/.local/bin/bareclaw .`, and run that"
	if err := executable(path); err != nil {
		return fmt.Errorf("%w; %s", err, advice)
	}
	for part := range strings.SplitSeq(path, string(filepath.Separator)) {
		if strings.HasPrefix(part, "go-build") { // `go run` and `go test` build in go-build directories, also in the build cache
			return fmt.Errorf("%s is a file of `go run` or `go test`, which the Go tools remove: %s", path, advice)
		}
	}
	for _, dir := range temporary {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%s is in %s, where files do not stay: %s", path, dir, advice)
		}
	}
	return nil
}

// temporary lists directories that the system empties from time to time.
func temporary() []string {
	dirs := []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders"}
	for _, dir := range dirs {
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			dirs = append(dirs, target)
		}
	}
	return dirs
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s", path)
	case err != nil:
		return fmt.Errorf("look at the program: %w", err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not a program", path)
	}
	return nil
}

// searchPath returns PATH without relative entries, missing directories, and duplicates,
// all useless to a service.
func searchPath(environ []string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(Lookup(environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		if info, err := os.Stat(dir); err == nil && info.IsDir() && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return "/usr/local/bin:/usr/bin:/bin"
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// Lookup returns the value of a variable in an environment, the last value if repeated, as
// the system does; empty if unset.
func Lookup(environ []string, name string) (value string) {
	for _, v := range environ {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

// settings returns the variables to record at installation, sorted by name, for the job
// to behave as the same program started from the current environment.
func settings(environ []string) []string {
	values := map[string]string{}
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && recorded(name) && value != "" {
			values[name] = value
		}
	}
	var out []string
	for name, value := range values {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

func recorded(name string) bool {
	switch name {
	case "BARECLAW_SESSION", "BARECLAW_SOCKET": // set by a session for commands run by claude; meaningless to a service
		return false
	case "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", // XDG_RUNTIME_DIR is left out: valid only during a login
		"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", // claude's login
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE": // claude's access to the API
		return true
	}
	return config.IsSetting(name) && !strings.HasPrefix(name, "BARECLAW_TEST_") && !strings.HasPrefix(name, "BARECLAW_REQUIRE_")
}
