package webapps

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/realclaude"
)

// Go returns an app in Go on PostgreSQL, instrumented by otelhttp and otelsql, with a flaw by the name of each
// rule. It is started again when it ends well, as it does after GET /healthz with the flaw end.
func Go(t testing.TB) *App {
	t.Helper()
	program, err := goProgram()
	if err != nil {
		unavailable(t, "modules of Go: %v", err)
	}
	a := newApp(t, "goapp")
	a.Env = append(a.Env, "PGHOST="+postgres(t))
	a.Command = untilFailure(program)
	return a
}

// untilFailure returns a command that starts a program again whenever it ends well.
func untilFailure(program ...string) []string {
	const script = `trap 'kill -9 "$!"; exit' INT TERM; while "$0" "$@" & wait "$!"; do :; done`
	return append([]string{"sh", "-c", script}, program...)
}

// goProgram returns the path of the app in Go. It is built once for each state of its sources, and kept.
var goProgram = sync.OnceValues(func() (string, error) {
	sources, err := goSources()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, runtime.Version())
	files, err := os.ReadDir(sources)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(sources, f.Name()))
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", f.Name(), len(text), text)
	}
	cache, err := realclaude.CacheDir()
	if err = errors.Join(err, os.MkdirAll(cache, 0o755)); err != nil {
		return "", err
	}
	program := filepath.Join(cache, fmt.Sprintf("web-app-go-%.8x", sum.Sum(nil)))
	unlock, err := lockedfile.MutexAt(program + ".lock").Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	return program, buildGo(sources, program)
})

// goSources returns the directory of the app's module, which is not a part of this one, so that it cannot be embedded.
func goSources() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "internal/testkit/webapps/testdata/goapp")
	return dir, check.DependOnSources(dir)
}

// buildGo makes the program appear whole. The caller holds its lock.
func buildGo(sources, program string) error {
	dir, err := os.MkdirTemp("", "goapp")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, os.DirFS(sources)); err != nil { // go build may write what it finds out into go.sum
		return err
	}
	build := exec.Command("go", "build", "-o", program+".new", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return os.Rename(program+".new", program)
}
