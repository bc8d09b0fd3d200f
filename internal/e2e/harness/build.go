// Package harness starts the gateway and everything around it for end-to-end tests: isolated
// machines, daemons, commands, terminals, a real or a scripted claude, and a fake Telegram.
package harness

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/launchctl"
	"bareclaw/internal/testkit/oddserver"
)

// Compiled compiles the program in dir, so that a later `go run` of the program starts quickly.
func Compiled(t *testing.T, dir string, env []string) {
	t.Helper()
	cmd := exec.Command("go", "run", ".", "version")
	cmd.Env, cmd.Dir = env, dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go run . version: %v\n%s", err, out)
	}
}

// GoEnv is what go needs to work as it does outside of the isolated home.
func GoEnv(t *testing.T) []string {
	t.Helper()
	names := []string{"GOENV", "GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	values := strings.Split(string(out), "\n")
	for i, name := range names {
		names[i] = name + "=" + values[i]
	}
	return names
}

// withoutRace says that programs are built without the race detector, even if the tests
// have it.
var withoutRace bool

// Main runs the tests of a package, in the project's directory. Started by the name
// launchctl, the test binary is a stand-in for that program; started as oddserver.Command says, it is that
// server.
func Main(m *testing.M) {
	oddserver.Main()
	if filepath.Base(os.Args[0]) == "launchctl" { // by a link
		os.Exit(launchctl.Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	if _, err := os.Stat("go.mod"); err != nil { // else another test binary has started this one in the root
		if err := os.Chdir("../../.."); err != nil { // tests name the project's files from its root
			fmt.Fprintln(os.Stderr, err)
			os.Exit(ExitFailure)
		}
	}
	os.Exit(m.Run())
}

// MainWithoutRace is Main for packages whose programs take the paths that others take under
// the race detector. With it a program takes 40 ms more to start, and twice the time for
// everything else.
func MainWithoutRace(m *testing.M) {
	withoutRace = true
	Main(m)
}

// built has what onceBuilt has returned in this process, by path below the cache directory.
var built sync.Map

// onceBuilt returns the path of a program of this checkout, which each process builds once. The
// packages of one `go test` share the program. go build touches even an unchanged program, which
// session hosts would take for another one: hence the copy, which is replaced only by a change.
func onceBuilt(name, variant string, build func(path string) error) (path string, err error) {
	once, _ := built.LoadOrStore(filepath.Join(variant, name), sync.OnceValues(func() (string, error) {
		dir, err := cacheDir()
		if err = errors.Join(err, check.DependOnSources(".")); err != nil {
			return "", err
		}
		path := filepath.Join(dir, variant, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return "", err
		}
		defer func() { _ = lock.Close() }()
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
			return "", err
		}
		if err := build(path + ".built"); err != nil {
			return "", fmt.Errorf("build %s: %w", name, err)
		}
		err = exec.Command("cmp", "-s", path+".built", path).Run()
		if differs := (*exec.ExitError)(nil); errors.As(err, &differs) { // or there is none yet
			err = errors.Join(os.RemoveAll(path), copyProgram(path+".built", path))
		}
		return path, err
	}))
	return once.(func() (string, error))()
}

// cacheDir returns the directory for what the tests of this checkout build.
func cacheDir() (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("bareclaw-e2e-%d-%x", os.Getuid(), sum[:6]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	now := time.Now()
	return dir, errors.Join(os.Chtimes(dir, now, now), removeUnused(filepath.Dir(dir), now.Add(-keepPrograms)))
}

// keepPrograms is how long the programs of a checkout are kept after its last test run.
// They take some 300 MB.
const keepPrograms = 24 * time.Hour

// removeUnused removes the programs of checkouts without a test run since then.
func removeUnused(cache string, since time.Time) error {
	dirs, err := filepath.Glob(filepath.Join(cache, fmt.Sprintf("bareclaw-e2e-%d-*", os.Getuid())))
	for _, dir := range dirs {
		st, statErr := os.Stat(dir)
		if statErr == nil && st.ModTime().Before(since) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

// withoutTables leaves out the tables of a debugger, which take long to write.
const withoutTables = "-s -w"

// goBuild builds a program of a source tree; empty for this one. Without the race detector it
// is compiled as `make build` and an upgrade from a source tree do, so that they share what the
// build cache has.
func goBuild(dir, path string, race []string, args ...string) error {
	cmd := exec.Command("go", slices.Concat([]string{"build", "-buildvcs=false", "-o", path}, race, args)...)
	if cmd.Dir = dir; len(race) == 0 {
		cmd.Args, cmd.Env = slices.Insert(cmd.Args, 2, "-trimpath"), append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// FakeClaude returns the path of the scripted stand-in for the CLI.
func FakeClaude(t testing.TB) string {
	t.Helper()
	path, err := onceBuilt("claude", "plain", func(path string) error {
		return goBuild("", path, nil, "-ldflags", withoutTables, "./internal/testkit/fakeclaude")
	})
	check.OK(t, err)
	return path
}

// Bareclaw returns the path of the program that the tests of the package run.
func Bareclaw(t testing.TB) string {
	t.Helper()
	path, err := onceBuilt("bareclaw", variant(), func(path string) error {
		return goBuild("", path, raceFlags(), "-ldflags", withoutTables, ".")
	})
	check.OK(t, err)
	return path
}

// variant names how programs are built.
func variant() string {
	if len(raceFlags()) > 0 {
		return "race"
	}
	return "plain"
}

// raceFlags returns the flags of go build for programs that the tests run: with the race
// detector if the tests have it, and for the same packages, unless the package does without.
func raceFlags() (flags []string) {
	info, ok := debug.ReadBuildInfo()
	if withoutRace || !ok {
		return nil
	}
	race := false
	for _, s := range info.Settings {
		if s.Key == "-race" || s.Key == "-gcflags" {
			flags, race = append(flags, s.Key+"="+s.Value), race || s.Key == "-race"
		}
	}
	if !race {
		return nil
	}
	return flags
}

// CopyProgram copies a program, with the directory that it goes into.
func CopyProgram(t testing.TB, from, to string) {
	t.Helper()
	check.OK(t, os.MkdirAll(filepath.Dir(to), 0o755))
	check.OK(t, copyProgram(from, to))
}

// copyProgram has the kernel copy a program, whose 25 MB take long under the race detector. No
// child of the tests inherits the copy while the copy is open for writing and cannot be executed.
func copyProgram(from, to string) error {
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
