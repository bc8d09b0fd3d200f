// Package program replaces the file of the running program by a new program, and puts the
// old program back. All replacements are renames: at any moment a whole program is at the
// path. One record in the state directory describes the last upgrade, so that the next
// process can go on after a crash of any process.
//
// The hand-over and the trial itself are the work of the daemon and the supervisor.
package program

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"bareclaw/internal/proc"
)

// An Info is what a program says of itself: `bareclaw version --json`.
type Info struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"` // of the source, if it is known
	Go        string `json:"go"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Schema    int    `json:"schema"`     // newest schema of the ledger that the program knows
	MinReader int    `json:"min_reader"` // schema that a reader of the program's ledger must know
}

// askTimeout bounds how long a program may take to say what it is.
const askTimeout = 20 * time.Second

// Ask runs the program at path and returns its Info, or why the program cannot run here. Ask
// blocks for at most askTimeout.
func Ask(ctx context.Context, path string) (Info, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "--json")
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{"PATH=" + os.Getenv("PATH")}, "/", time.Second
	var out, errs proc.Tail
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var said error
	if text := errs.String(); text != "" {
		said = errors.New(text)
	}
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return Info{}, fmt.Errorf("%s is not a program for this machine (%s/%s)", path, runtime.GOOS, runtime.GOARCH)
	case err != nil && ctx.Err() != nil:
		return Info{}, fmt.Errorf("%s does not answer `version --json` within %s", path, askTimeout)
	case err != nil:
		return Info{}, fmt.Errorf("%s does not answer `version --json`, as a bareclaw that can be upgraded to does: %w", path, errors.Join(err, said))
	}
	var i Info
	if err := json.Unmarshal([]byte(out.String()), &i); err != nil || i.Version == "" || i.Schema < 1 {
		return Info{}, fmt.Errorf("%s answers `version --json` with something else than a bareclaw does", path)
	}
	if i.OS != runtime.GOOS || i.Arch != runtime.GOARCH {
		return Info{}, fmt.Errorf("%s is for %s/%s, and this machine is %s/%s", path, i.OS, i.Arch, runtime.GOOS, runtime.GOARCH)
	}
	return i, nil
}

// Reads returns nil if the program can use a ledger that requires the schema minReader, or
// why not.
func (i Info) Reads(minReader int) error {
	if i.Schema < minReader {
		return fmt.Errorf("bareclaw %s knows schema %d, and the ledger needs a program that knows schema %d: what was changed since cannot be undone; "+
			"restore a backup from that time, or use a newer program", i.Version, i.Schema, minReader)
	}
	return nil
}

// Find returns the program at a path. For a directory, the program is a build of the source
// tree there, or else the file named bareclaw. A build goes into the directory work, and the
// tool chain's output to progress. Find blocks for as long as a build takes.
func Find(ctx context.Context, path, work string, progress io.Writer) (program string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the new program: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find the new program: %w", err)
	}
	if !info.IsDir() {
		return path, nil
	}
	if IsSource(path) {
		return build(ctx, path, work, progress)
	}
	program = filepath.Join(path, "bareclaw")
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is neither a program nor a source tree of bareclaw: name a program's file, a directory with one named bareclaw in it, "+
			"or the directory of the source that go.mod is in", path)
	}
	return program, nil
}

// IsSource reports whether a directory holds the source of this program.
func IsSource(dir string) bool {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && bytes.HasPrefix(mod, []byte("module bareclaw\n"))
}

// build builds the source with -trimpath, which hides the source tree from the program:
// otherwise every restart would build anew, and no file could replace the program.
func build(ctx context.Context, source, work string, progress io.Writer) (string, error) {
	program := filepath.Join(work, "bareclaw")
	err := Build(ctx, source, program, os.Environ(), progress, "-v", "-trimpath")
	switch {
	case errors.Is(err, exec.ErrNotFound) || err != nil && ctx.Err() != nil:
		return "", err
	case err != nil:
		return "", fmt.Errorf("%s does not compile, or cannot be built here: see what go says above, and mend that (%w). Nothing was changed", source, err)
	}
	if err := os.Chmod(program, 0o755); err != nil { //nolint:gosec // a program, whatever the umask made of it
		return "", fmt.Errorf("build %s: %w", source, err)
	}
	return program, nil
}

// Build builds the program of a source tree as the file next. What the tool chain says goes
// to progress. The error is exec.ErrNotFound without a tool chain.
func Build(ctx context.Context, source, next string, environ []string, progress io.Writer, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-o", next}, flags, []string{"."})...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = source, environ, progress, progress
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("build %s: the Go tool chain is needed for that: %w", source, err)
	case err != nil:
		return fmt.Errorf("build %s: %w", source, cmp.Or(context.Cause(ctx), err))
	}
	return nil
}
