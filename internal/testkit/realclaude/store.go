package realclaude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// A store is the cache of one release. Under dir it has
//
//	NAME/              the unpacked package; it appears whole, checked and tried
//	NAME.lock          held by the process that fetches
//	NAME.unavailable   why the last try reached nothing; its age counts
//	NAME.tmp-*         a fetch in progress
type store struct {
	dir string
	rel release
	npm []string // the program and its first arguments
}

func (s store) path(suffix string) string {
	return filepath.Join(s.dir, "claude-"+s.rel.version+"-"+s.rel.platform+suffix)
}

// fetch returns the path of the program. An unavailability found less than
// trustFailure ago is believed without another try.
func (s store) fetch(ctx context.Context, trustFailure time.Duration) (string, error) {
	program := filepath.Join(s.path(""), "claude")
	if isFile(program) {
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
	if isFile(program) { // another process was faster
		return program, nil
	}
	if err := s.lastFailure(trustFailure); err != nil {
		return "", err
	}
	err = s.install(ctx)
	if errors.Is(err, ErrUnavailable) {
		return "", errors.Join(err, s.noteFailure(err))
	}
	if err != nil {
		return "", fmt.Errorf("install %s: %w", s.rel.spec(), err)
	}
	return program, nil
}

// install fetches, unpacks and tries the package in a temporary directory and
// renames it into place. The caller holds the lock.
func (s store) install(ctx context.Context) (err error) {
	if err := s.sweep(); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(s.dir, filepath.Base(s.path(".tmp-*")))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	tarball, err := s.pack(ctx, temp)
	if err != nil {
		return err
	}
	if err := verify(tarball, s.rel.integrity); err != nil {
		return err
	}
	unpacked := filepath.Join(temp, "package")
	if err := unpack(tarball, unpacked); err != nil {
		return err
	}
	if err := s.try(ctx, filepath.Join(unpacked, "claude"), temp); err != nil {
		return err
	}
	if err := os.RemoveAll(s.path("")); err != nil { // without its program it is of no use
		return err
	}
	return os.Rename(unpacked, s.path(""))
}

// sweep removes what a killed fetch left. The caller holds the lock.
func (s store) sweep() error {
	left, err := filepath.Glob(s.path(".tmp-*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// try runs the program once, for its version.
func (s store) try(ctx context.Context, program, home string) error {
	for {
		cmd := exec.CommandContext(ctx, program, "--version")
		cmd.Env = Env(home, "http://127.0.0.1:9") // nobody listens there; a version needs no API
		cmd.WaitDelay = time.Second
		out, err := cmd.CombinedOutput()
		// A process forked elsewhere in this program while the file was being
		// written holds it open until its own exec: golang.org/issue/22315.
		if errors.Is(err, syscall.ETXTBSY) && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if err != nil {
			return fmt.Errorf("run claude --version: %w: %s", err, tail(out))
		}
		if got, _, _ := strings.Cut(string(bytes.TrimSpace(out)), " "); got != s.rel.version {
			return fmt.Errorf("claude --version says %q, want %s", tail(out), s.rel.version)
		}
		return nil
	}
}

// lastFailure returns the unavailability noted less than maxAge ago.
func (s store) lastFailure(maxAge time.Duration) error {
	note := s.path(".unavailable")
	info, err := os.Stat(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the last try: %w", err)
	}
	if age := time.Since(info.ModTime()); age < 0 || age >= maxAge {
		return nil
	}
	why, err := os.ReadFile(note)
	if err != nil {
		return fmt.Errorf("read why the last try failed: %w", err)
	}
	return fmt.Errorf("%w; tried a short while ago: %s", ErrUnavailable, why)
}

func (s store) noteFailure(why error) error {
	return os.WriteFile(s.path(".unavailable"), []byte(why.Error()), 0o644)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// tail is the end of a program's output, for an error text.
func tail(out []byte) string {
	const most = 1000
	out = bytes.TrimSpace(out)
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return string(out)
}
