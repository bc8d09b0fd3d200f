package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat/program"
)

// buildTimeout bounds how long the Go tool chain may take on a restart.
const buildTimeout = 5 * time.Minute

// build returns the program that a restart starts: built anew where this one was
// built from a source tree that is still there, so that a changed source
// applies, else this program's own file as it is now. What the compiler says is
// the error.
func (d *daemon) build(ctx context.Context) (path string, err error) {
	source := sourceTree(d.cfg.Source)
	if source == "" {
		return d.self, runnable(d.self)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		if d.cfg.Source != "" {
			return "", fmt.Errorf("build %s (BARECLAW_SOURCE): %w", source, err)
		}
		return d.self, runnable(d.self) // built elsewhere, or by a tool chain that is gone
	}
	path = program.Built(d.cfg.StateDir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make room for the new program: %w", err)
	}
	next := path + ".next"
	cmd := exec.CommandContext(ctx, goTool, "build", "-o", next, ".")
	cmd.Dir, cmd.Env = source, d.environ
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		if says := strings.TrimSpace(string(bytes.ToValidUTF8(out, []byte("\uFFFD")))); says != "" {
			return "", fmt.Errorf("build %s: %w:\n%s", source, err, says)
		}
		return "", fmt.Errorf("build %s: %w", source, errors.Join(err, context.Cause(ctx)))
	}
	if err := os.Rename(next, path); err != nil {
		return "", fmt.Errorf("put the new program in its place: %w", err)
	}
	d.log.Info("built", "source", source, "path", path, "took", time.Since(began))
	return path, nil
}

// sourceTree returns the directory of the source to build from, empty if there
// is none: the one that is configured, or that this program was built from.
func sourceTree(configured string) string {
	switch configured {
	case config.SourceOff:
		return ""
	case "":
	default:
		return configured
	}
	_, file, _, ok := runtime.Caller(0) // not a path at all with -trimpath
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	dir := filepath.Join(filepath.Dir(file), "../..")
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !bytes.HasPrefix(mod, []byte("module bareclaw\n")) {
		return ""
	}
	return dir
}

// runnable returns an error unless the file can be started.
func runnable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("this program's file is gone: %w", err)
	case st.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable", path)
	}
	return nil
}
