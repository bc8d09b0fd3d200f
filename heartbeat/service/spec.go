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
)

// A Request is what a Spec is gathered from.
type Request struct {
	Binary   string        // the program, absolute
	Chosen   bool          // a person named the program: it may be anywhere
	Dir      string        // working directory, absolute
	Environ  []string      // the environment as it was before any .env was read, which the job reads itself
	Claude   string        // name or path of the CLI
	Echo     bool          // the echo agent is wanted, and no CLI
	StateDir string        // absolute
	Interval time.Duration // of the heartbeat
	Listen   string        // HOST:PORT that systemd is to listen on; empty for none
}

// ErrNoClaude is in the error of a Request for which there is no CLI.
var ErrNoClaude = errors.New("claude was not found")

// NewSpec looks for what the jobs need and returns their Spec. It reads the disk and
// changes nothing. The error joins all that is missing, each with what to do.
func NewSpec(r Request) (Spec, error) {
	path := searchPath(r.Environ)
	s := Spec{
		Binary: r.Binary, Dir: r.Dir, Path: path, StateDir: r.StateDir, Interval: r.Interval,
		Settings: settings(r.Environ), Listen: r.Listen,
	}
	problems := []error{Lasting(r.Binary)}
	if r.Chosen {
		problems[0] = executable(r.Binary)
	}
	if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() {
		problems = append(problems, fmt.Errorf("the working directory %s is no directory", r.Dir))
	}
	if !r.Echo {
		var err error
		s.Claude, err = findClaude(r.Claude, path)
		problems = append(problems, err)
	}
	return s, errors.Join(problems...)
}

// findClaude returns the absolute path of the CLI. Links are not followed: an update
// of claude changes where they lead.
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
	return "", fmt.Errorf("%w (looked for %q: %w): install it with `npm install -g @anthropic-ai/claude-code` and run `claude` once to log in, "+
		"set BARECLAW_CLAUDE to its path, or ask for `--agent echo` if the echo agent is what you want", ErrNoClaude, name, err)
}

// Lasting returns why a service cannot rely on a program's file: it is not there, or
// will not stay. What a restart has built in the state directory stays, and each
// restart builds the next one in the same place.
func Lasting(path string) error { return lastingOutside(temporary(), path) }

// lastingOutside is Lasting where those directories are emptied at times.
func lastingOutside(temporary []string, path string) error {
	const advice = "build it where it can stay, with `go build -o ~/.local/bin/bareclaw .`, and run that"
	if err := executable(path); err != nil {
		return fmt.Errorf("%w; %s", err, advice)
	}
	for part := range strings.SplitSeq(path, string(filepath.Separator)) {
		if strings.HasPrefix(part, "go-build") { // of `go run` and `go test`, also in the build cache
			return fmt.Errorf("%s is a file of `go run` or `go test`, which the Go tools remove: %s", path, advice)
		}
	}
	for _, dir := range temporary {
		if below(dir, path) {
			return fmt.Errorf("%s is in %s, where files do not stay: %s", path, dir, advice)
		}
	}
	return nil
}

// temporary lists directories that are emptied at times.
func temporary() []string {
	dirs := []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders"}
	for _, dir := range dirs {
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			dirs = append(dirs, target)
		}
	}
	return dirs
}

func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// executable returns why a file cannot be started.
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

// searchPath returns PATH without what means nothing to a service: relative entries,
// directories that are not there, and repetitions.
func searchPath(environ []string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
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

// lookup returns the value of a variable, the last one as the system does.
func lookup(environ []string, name string) (value string) {
	for _, v := range environ {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

// settings returns what a job must have of the environment to do as a program that is
// started here does, sorted by name.
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

// recorded reports whether a job is given a variable as it was at installation.
func recorded(name string) bool {
	switch name {
	case "BARECLAW_SESSION", "BARECLAW_SOCKET": // where claude runs us: of that session and that gateway
		return false
	case "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", // XDG_RUNTIME_DIR is of a login
		"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", // claude's login
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE": // its way to the API
		return true
	}
	return strings.HasPrefix(name, "BARECLAW_") && !strings.HasPrefix(name, "BARECLAW_TEST_") && !strings.HasPrefix(name, "BARECLAW_REQUIRE_")
}
