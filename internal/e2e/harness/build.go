// Package harness starts the gateway and everything around it for end-to-end tests: isolated
// machines, daemons, commands, terminals, a real or a scripted claude, and a fake Telegram.
package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/launchctl"
)

// Compiled has go compile a program, which may take long where nothing of it was before, so
// that to run it from its source does not.
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

// built is the directory of the programs that the tests run besides this one: each is built
// once. Main makes and removes it.
var built string

// builtVariable names that directory to a test binary that another one starts.
const builtVariable = "BARECLAW_TEST_BUILT"

// Main runs the tests of a package, in the project's directory, with a directory for the
// programs that they build. Started by the name launchctl, the test binary is a stand-in
// for that program.
func Main(m *testing.M) {
	if filepath.Base(os.Args[0]) == "launchctl" { // by a link
		os.Exit(launchctl.Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	if built = os.Getenv(builtVariable); built != "" {
		os.Exit(m.Run())
	}
	if err := os.Chdir("../../.."); err != nil { // tests name the project's files from its root
		fmt.Fprintln(os.Stderr, err)
		os.Exit(ExitFailure)
	}
	dir, err := os.MkdirTemp("", "bc")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(ExitFailure)
	}
	built = dir
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// onceBuilt returns the path of a program, which the first one to ask builds, of all
// processes of this run.
func onceBuilt(name string, build func(path string) error) (path string, err error) {
	path = filepath.Join(built, name)
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	next := path + ".next"
	if err := build(next); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, os.Rename(next, path)
}

// goBuild runs `go build` here.
func goBuild(args ...string) error {
	if out, err := exec.Command("go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// FakeClaude returns the path of the scripted stand-in for the CLI.
func FakeClaude(t testing.TB) string {
	t.Helper()
	path, err := onceBuilt("claude", func(path string) error { return goBuild("-o", path, "./internal/testkit/fakeclaude") })
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Bareclaw returns the path of the program, built with the race detector if the tests are.
func Bareclaw(t testing.TB) string {
	t.Helper()
	path, err := onceBuilt("bareclaw", func(path string) error { return goBuild(append(raceFlag(), "-buildvcs=false", "-o", path, ".")...) })
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// raceFlag returns the flag of go build for programs that the tests run: with the race
// detector if the tests have it.
func raceFlag() []string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" && s.Value == "true" {
				return []string{"-race"}
			}
		}
	}
	return nil
}

// CopyProgram copies a program, with the directory that it goes into.
func CopyProgram(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = WriteProgram(to, b)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// WriteProgram writes a file that is going to be run. It cannot be while anybody has it
// open for writing, as a process would that is started meanwhile: for a moment it has all
// that this one has open.
func WriteProgram(path string, b []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, b, 0o755)
}
