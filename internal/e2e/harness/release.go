package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// MannerVariable says how a program that includes BrokenSource misbehaves.
const MannerVariable = "BARECLAW_TEST_MANNER"

// BrokenSource is an additional source file that makes the daemon misbehave.
const BrokenSource = `package daemon

import (
	"errors"
	"os"
	"strings"
	"time"
)

func init() {
	if len(os.Args) < 2 || os.Args[1] != "worker" {
		return
	}
	switch os.Getenv("` + MannerVariable + `") {
	case "dies":
		os.Exit(7)
	case "mute":
		for { // a select of nothing would be a deadlock that Go finds
			time.Sleep(time.Hour)
		}
	}
}

// late waits for a file, in a daemon that is to fail when it has taken over.
func late() error {
	gate, ok := strings.CutPrefix(os.Getenv("` + MannerVariable + `"), "late:")
	if !ok {
		return nil
	}
	for {
		if _, err := os.Stat(gate); err == nil {
			return errors.New("this release is broken")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
`

// ReleaseOf returns the path of the program, built as a release of that name. The one
// that is named broken misbehaves.
func ReleaseOf(t testing.TB, name string) string {
	t.Helper()
	path, err := onceBuilt("release-"+name, variant(), func(path string) error { return buildRelease(name, path) })
	check.OK(t, err)
	return path
}

func buildRelease(name, path string) error {
	args := []string{"-ldflags", withoutTables + " -X bareclaw/internal/buildinfo.release=" + name}
	if name == "broken" {
		replaced, err := brokenOverlay()
		if err != nil {
			return err
		}
		args = append(args, "-overlay", replaced)
	}
	return goBuild("", path, raceFlags(), append(args, ".")...)
}

// opens is where a daemon opens its records: too late to be refused by the one before.
const opens = "func (d *daemon) open() error {\n"

// brokenOverlay writes an overlay for go build that adds BrokenSource, and a call of late
// where the daemon opens its records. brokenOverlay returns the overlay's path.
func brokenOverlay() (path string, err error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile("internal/daemon/daemon.go")
	serve := strings.Replace(string(source), opens, opens+"if err := late(); err != nil { return err }\n", 1)
	if err != nil || serve == string(source) {
		return "", errors.Join(err, errors.New("daemon.go has no function open any more"))
	}
	replace := map[string]string{}
	for name, text := range map[string]string{"broken.go": BrokenSource, "daemon.go": serve} {
		file := filepath.Join(dir, "broken-"+name)
		replace[filepath.Join(root, "internal/daemon", name)] = file
		err = errors.Join(err, os.WriteFile(file, []byte(text), 0o600))
	}
	b, _ := json.Marshal(map[string]any{"Replace": replace}) // texts always marshal
	path = filepath.Join(dir, "broken.json")
	return path, errors.Join(err, os.WriteFile(path, b, 0o600))
}

// Install installs a release on the machine and sets how long trials take; an empty trial
// leaves them as long as outside of tests.
func (m *Machine) Install(name, trial string) {
	m.T.Helper()
	for _, later := range []string{"v1", "v2", "broken"} {
		ReleaseOf(m.T, later) // a build during a trial could take longer than the trial
	}
	check.OK(m.T, os.Mkdir(m.Path("bin"), 0o700))
	m.Program = m.Path("bin/bareclaw")
	CopyProgram(m.T, ReleaseOf(m.T, name), m.Program)
	m.Env = append(m.Env, TrialVariable+"="+trial)
}

// Upgrades runs `bareclaw upgrade` and fails unless it ends so and says that.
func (m *Machine) Upgrades(status int, says string, args ...string) {
	m.T.Helper()
	m.Invoke(nil, append([]string{"upgrade"}, args...)...).Says(status, says)
}

// Serves waits until a daemon of that release serves and is the one that the lock file
// names, and turns to it.
func (g *Gateway) Serves(name string) {
	g.T.Helper()
	g.Eventually("release "+name+" serves", func() bool {
		h := g.LockFile()
		if h.Address == "" || !proc.Alive(h.PID, h.Start) {
			return false
		}
		g.Base = "http://" + h.Address
		a, err := g.Do("GET", "/health", nil)
		return err == nil && a.Flag("ready") && a.Str("version") == name && a.JSON["pid"] == float64(h.Worker)
	})
}

// OnTrial waits until the worker with that pid has handed over to another one, which is on
// trial then.
func (g *Gateway) OnTrial(old int) (now lockfile.Holder) {
	g.T.Helper()
	g.Eventually("handed over", func() bool {
		now = g.LockFile()
		said, _ := os.ReadFile(g.Path("log")) // of a unit
		for line := range strings.Lines(g.Log.String() + string(said)) {
			if now.Worker != old && strings.Contains(line, `"msg":"ready"`) && strings.Contains(line, fmt.Sprintf(`"pid":%d,`, now.Worker)) {
				return true
			}
		}
		return false
	})
	return now
}

// Fails upgrades to a release and sends the new worker a signal during the trial. The test
// fails unless the gateway then goes back to v1 and gives the reason.
func (g *Gateway) Fails(name string, sig syscall.Signal, says string, args ...string) {
	g.T.Helper()
	old := g.Worker()
	i := g.Invoke(nil, append([]string{"upgrade", "--from", ReleaseOf(g.T, name)}, args...)...)
	now := g.OnTrial(old)
	if err := proc.Signal(now.Worker, now.WorkerStart, sig); err != nil {
		g.T.Error(err)
	}
	i.Says(ExitFailure, "went back from "+name+" to v1")
	i.Tells(says)
}

// Trial returns the record of the last upgrade.
func (m *Machine) Trial() *program.Trial {
	m.T.Helper()
	t, err := program.Load(m.Path("state"))
	if err != nil || t == nil {
		m.T.Fatalf("record of the upgrade: %+v, %v", t, err)
	}
	return t
}
