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

// build builds the program of a source tree as the file next. What the compiler says is
// the error.
func (b *base) build(ctx context.Context, source, next string) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("build %s: the Go tool chain is needed for that (BARECLAW_SOURCE=off restarts the program as it is): %w", source, err)
	}
	cmd := exec.CommandContext(ctx, goTool, "build", "-o", next, ".")
	cmd.Dir, cmd.Env = source, b.environ
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		if says := strings.TrimSpace(string(bytes.ToValidUTF8(out, []byte("\uFFFD")))); says != "" {
			return fmt.Errorf("build %s: %w:\n%s", source, err, says)
		}
		return fmt.Errorf("build %s: %w", source, errors.Join(err, context.Cause(ctx)))
	}
	b.log.Info("built", "source", source, "path", next, "took", time.Since(began))
	return nil
}

// restartSource returns the source tree that a restart builds the program from, empty for
// none: the configured one, or that of a gateway that `go run` has started.
func (b *base) restartSource() string {
	switch {
	case b.cfg.Source == config.SourceOff:
		return ""
	case b.cfg.Source != "":
		return b.cfg.Source
	case program.IsTemporary(b.self) || b.self == program.Built(b.cfg.StateDir):
		return builtFrom()
	}
	return ""
}

// knownSource returns the source tree of this program, empty if there is none on this
// machine.
func (b *base) knownSource() string {
	if b.cfg.Source != "" && b.cfg.Source != config.SourceOff {
		return b.cfg.Source
	}
	return builtFrom()
}

// builtFrom returns the source tree that this program was built from, empty if the tree is
// not known or is gone.
func builtFrom() string {
	_, file, _, ok := runtime.Caller(0) // not a path at all with -trimpath
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	if dir := filepath.Join(filepath.Dir(file), "../.."); program.IsSource(dir) {
		return dir
	}
	return ""
}

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
