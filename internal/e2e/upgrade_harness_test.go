package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// mannerVariable says how the program that is built from brokenSource misbehaves.
const mannerVariable = "BARECLAW_TEST_MANNER"

// brokenSource is a file more in the program's source: what it does to a daemon.
const brokenSource = `package daemon

import (
	"errors"
	"os"
	"strings"
	"time"
)

func init() {
	if len(os.Args) < 2 || os.Args[1] != "serve" {
		return
	}
	switch os.Getenv("` + mannerVariable + `") {
	case "dies":
		os.Exit(7)
	case "mute":
		select {}
	}
}

// late waits for a file, in a daemon that is to fail when it has taken over.
func late() error {
	gate, ok := strings.CutPrefix(os.Getenv("` + mannerVariable + `"), "late:")
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

// overlays make the source of releases that are not this one's.
var overlays = map[string]func() (path string, err error){"broken": brokenOverlay, "settling": settlingOverlay}

// settlingSource is a file more in the ledger's source: a migration of either kind.
const settlingSource = `package ledger

func init() {
	migrations = append(migrations, "CREATE TABLE added (x INTEGER) STRICT;")
	breaking = append(breaking, breakingMigration{"CREATE TABLE broke (x INTEGER) STRICT;", len(migrations)})
}
`

func settlingOverlay() (path string, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	file := filepath.Join(built, "settling.go")
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(dir, "core/ledger/settling.go"): file}})
	path = filepath.Join(built, "settling.json")
	return path, errors.Join(err, os.WriteFile(file, []byte(settlingSource), 0o600), os.WriteFile(path, b, 0o600))
}

// releaseOf returns the path of the program, built as a release of that name. The one
// that is named broken misbehaves, and what settling makes of a ledger no other reads.
func releaseOf(t testing.TB, name string) string {
	t.Helper()
	path, err := onceBuilt("release-"+name, func(path string) error { return buildRelease(name, path) })
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func buildRelease(name, path string) error {
	args := append(raceFlag(), "-ldflags", "-X bareclaw/internal/buildinfo.release="+name, "-o", path)
	if overlay := overlays[name]; overlay != nil {
		replaced, err := overlay()
		if err != nil {
			return err
		}
		args = append(args, "-overlay", replaced)
	}
	if err := goBuild(append(args, ".")...); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}

// opens is where a daemon opens its records: too late to be refused by the one before.
const opens = "func (d *daemon) open() (err error) {\n"

// brokenOverlay writes what adds brokenSource to the source, and the manner in which a
// daemon fails when it has taken over.
func brokenOverlay() (path string, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile("internal/daemon/serve.go")
	if err != nil {
		return "", err
	}
	serve := strings.Replace(string(source), opens, opens+"if err := late(); err != nil { return err }\n", 1)
	if serve == string(source) {
		return "", errors.New("serve.go has no function open any more")
	}
	file, lateFile := filepath.Join(built, "broken.go"), filepath.Join(built, "late.go")
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(dir, "internal/daemon/broken.go"): file, filepath.Join(dir, "internal/daemon/serve.go"): lateFile,
	}})
	path = filepath.Join(built, "overlay.json")
	return path, errors.Join(err, os.WriteFile(file, []byte(brokenSource), 0o600), os.WriteFile(lateFile, []byte(serve), 0o600), os.WriteFile(path, b, 0o600))
}

// install makes the machine one on which a release is installed, and trials take so long;
// empty for as long as they do where nobody tests.
func (m *machine) install(name, trial string) {
	m.t.Helper()
	if err := os.Mkdir(m.path("bin"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	m.program = m.path("bin/bareclaw")
	copyProgram(m.t, releaseOf(m.t, name), m.program)
	m.env = append(m.env, trialVariable+"="+trial)
}

// A commandResult is what became of a command of the installed program.
type commandResult struct {
	status   int
	out, err string
}

// commanded starts a command of the installed program. The function waits for its end.
func (m *machine) commanded(args ...string) (wait func() commandResult) {
	m.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(m.executable(), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = m.env, m.path("work"), &out, &errs
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	return sync.OnceValue(func() commandResult {
		_ = cmd.Wait() // the status says it
		return commandResult{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	})
}

// upgrades runs `bareclaw upgrade` and fails unless it ends so and says that.
func (m *machine) upgrades(status int, says string, args ...string) {
	m.t.Helper()
	r := m.commanded(append([]string{"upgrade"}, args...)...)()
	if r.status != status || !strings.Contains(r.out+r.err, says) {
		m.t.Errorf("upgrade %v: status %d, want %d with %q:\n%s%s", args, r.status, status, says, r.out, r.err)
	}
}

// serves waits until a daemon of that release serves and is the one that the lock file
// names, and turns to it.
func (g *gateway) serves(name string) {
	g.t.Helper()
	g.eventually("release "+name+" serves", func() bool {
		h := g.lockFile()
		if h.Address == "" || !proc.Alive(h.PID, h.Start) {
			return false
		}
		g.base = "http://" + h.Address
		a, err := g.do("GET", "/health", nil)
		return err == nil && a.flag("ready") && a.str("version") == name && a.json["pid"] == float64(h.PID)
	})
}

// onTrial waits until the process with that pid has handed over to another one, and watches
// it. It returns that.
func (g *gateway) onTrial(old int) (now lockfile.Holder) {
	g.t.Helper()
	g.eventually("handed over", func() bool {
		now = g.lockFile()
		said, _ := os.ReadFile(g.path("log")) // of a unit
		return now.PID != old && strings.Contains(g.log.String()+string(said), fmt.Sprintf(`"msg":"handed over","pid":%d,`, now.PID))
	})
	return now
}

// fails upgrades to a release, which on trial gets a signal, and fails unless the old
// program is back then, for a reason.
func (g *gateway) fails(name string, sig syscall.Signal, says string, args ...string) {
	g.t.Helper()
	old := g.lockFile().PID
	wait := g.commanded(append([]string{"upgrade", "--from", releaseOf(g.t, name)}, args...)...)
	now := g.onTrial(old)
	if err := proc.Signal(now.PID, now.Start, sig); err != nil {
		g.t.Error(err)
	}
	if r := wait(); r.status != exitFailure || !strings.Contains(r.err, "went back from "+name+" to v1") || !strings.Contains(r.err, says) {
		g.t.Errorf("upgrade ends with %d\n%s%s", r.status, r.out, r.err)
	}
}

// trial returns the record of the last upgrade.
func (m *machine) trial() *program.Trial {
	m.t.Helper()
	t, err := program.Load(m.path("state"))
	if err != nil || t == nil {
		m.t.Fatalf("record of the upgrade: %+v, %v", t, err)
	}
	return t
}

// holds fails unless the files beside the program are the releases; empty means none.
func (m *machine) holds(now, old, failed string) {
	m.t.Helper()
	for suffix, name := range map[string]string{"": now, ".old": old, ".failed": failed, ".next": ""} {
		have, err := program.Sum(m.program + suffix)
		want := ""
		if name != "" {
			want, _ = program.Sum(releaseOf(m.t, name))
		} else if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		if err != nil || have != want {
			m.t.Errorf("bareclaw%s is not release %q (%v)", suffix, name, err)
		}
	}
}
