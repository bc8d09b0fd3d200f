package realclaude

import (
	"cmp"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// probeTimeout bounds the question whether npm reaches anything at all: npm's
// own patience is many minutes.
const probeTimeout = 45 * time.Second

// A store is the cache of one build. Under dir it has
//
//	NAME/              the unpacked package; it appears whole, checked and tried
//	NAME.lock          held by the process that fetches
//	NAME.unavailable   why the last try reached nothing; its age counts
//	NAME.tmp           a fetch in progress
type store struct {
	dir, platform, version string
	integrity              string // as npm writes it; empty to ask npm
	npm                    string // the program
}

func (s store) path(suffix string) string {
	return filepath.Join(s.dir, "claude-"+s.version+"-"+s.platform+suffix)
}

// fetch returns the path of the program. An unavailability found less than
// trustFailure ago is believed without another try.
func (s store) fetch(ctx context.Context, trustFailure time.Duration) (string, error) {
	program := filepath.Join(s.path(""), "claude")
	if exists(program) {
		return program, nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache for the claude CLI: %w", err)
	}
	unlock, err := lockedfile.MutexAt(s.path(".lock")).Lock()
	if err != nil {
		return "", fmt.Errorf("lock the cache of the claude CLI: %w", err)
	}
	defer unlock()
	if exists(program) { // another process was faster
		return program, nil
	}
	note := s.path(".unavailable")
	if info, err := os.Stat(note); err == nil && time.Since(info.ModTime()) < trustFailure {
		why, err := os.ReadFile(note)
		return "", errors.Join(fmt.Errorf("%w; tried a short while ago: %s", ErrUnavailable, why), err)
	}
	err = s.install(ctx)
	if errors.Is(err, ErrUnavailable) {
		return "", errors.Join(err, os.WriteFile(note, []byte(err.Error()), 0o644))
	}
	if err != nil {
		return "", fmt.Errorf("install claude %s: %w", s.version, err)
	}
	return program, nil
}

// install fetches, checks, unpacks and tries the package in a temporary directory and
// renames it into place. The caller holds the lock.
func (s store) install(ctx context.Context) (err error) {
	temp, spec := s.path(".tmp"), "@anthropic-ai/claude-code-"+s.platform+"@"+s.version
	if err := errors.Join(os.RemoveAll(temp), os.Mkdir(temp, 0o755)); err != nil { // what a killed fetch left
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	probe, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	published, err := run(probe, temp, nil, s.npm, "view", "--fetch-retries=1", spec, "dist.integrity")
	if err == nil {
		_, err = run(ctx, temp, nil, s.npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", temp, spec)
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // by the caller: nothing is known about npm
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	found, _ := filepath.Glob(filepath.Join(temp, "*.tgz"))
	if len(found) != 1 {
		return fmt.Errorf("npm pack left %d archives, want 1", len(found))
	}
	archive, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != cmp.Or(s.integrity, published) {
		return fmt.Errorf("checksum of %s is %s, want %s", found[0], got, cmp.Or(s.integrity, published))
	}
	if _, err := run(ctx, temp, nil, "tar", "-xzf", found[0]); err != nil {
		return err
	}
	unpacked := filepath.Join(temp, "package")
	// Nobody listens at that address; a version needs no API.
	said, err := run(ctx, temp, Env(temp, "http://127.0.0.1:9"), filepath.Join(unpacked, "claude"), "--version")
	if err != nil || !strings.HasPrefix(said, s.version+" ") {
		return fmt.Errorf("claude --version says %q, want %s: %w", said, s.version, err)
	}
	return errors.Join(os.RemoveAll(s.path("")), os.Rename(unpacked, s.path(""))) // without its program the old one is of no use
}

// run runs a program in a directory, with this environment if env is nil, and returns what
// it says.
func run(ctx context.Context, dir string, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
	out, err := cmd.CombinedOutput()
	said := strings.TrimSpace(string(out))
	if err != nil {
		return said, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, said[max(0, len(said)-1000):])
	}
	return said, nil
}
