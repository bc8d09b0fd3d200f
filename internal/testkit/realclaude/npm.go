package realclaude

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// probeTimeout bounds the question whether npm reaches anything at all: npm's
// own patience is many minutes.
const probeTimeout = 45 * time.Second

// pack has npm put the release's tarball into dir and returns its path. The
// error is ErrUnavailable if npm could not.
func (s store) pack(ctx context.Context, dir string) (string, error) {
	if err := s.probe(ctx, dir); err != nil {
		return "", err
	}
	if err := s.run(ctx, dir, "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, s.rel.spec()); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("npm pack left %d archives, want 1", len(found))
	}
	return found[0], nil
}

func (s store) probe(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return s.run(ctx, dir, "view", "--fetch-retries=1", s.rel.spec(), "version")
}

// run runs npm in dir with the environment as it is: npm has its own settings
// there and in the user's home.
func (s store) run(ctx context.Context, dir string, args ...string) error {
	args = append(slices.Clone(s.npm), args...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled): // by the caller: nothing is known about npm
		return fmt.Errorf("run npm: %w", context.Cause(ctx))
	}
	return fmt.Errorf("%w: %s: %w: %s", ErrUnavailable, strings.Join(args, " "), err, tail(out))
}
