package upgrade

import (
	"os"
	"strings"
	"testing"
	"time"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestUpgradeFromSource upgrades to what is built from a source tree: one that cannot be
// compiled, one whose program fails, and one that stays after a trial of its whole
// length. Directories that are no source of this program are refused.
func TestUpgradeFromSource(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, harness.MannerVariable+"=dies")
	m.Env = append(append(m.Env, harness.GoEnv(t)...), "CGO_ENABLED=0")
	m.Install("v1", "")
	g := m.Start()
	source := m.Path("source")
	copySource(t, source)
	write := func(name, text string) {
		t.Helper()
		check.OK(t, os.WriteFile(m.Path(name), []byte(text), 0o600))
	}
	before := m.Glob("bin/*")
	changedNothing := func(what string) {
		t.Helper()
		if u := g.Must("GET", "/upgrade", nil, 200); u.Str("state") != "none" {
			t.Errorf("after %s the last upgrade is %s", what, u.Body)
		}
		if now := m.Glob("bin/*"); len(now) != len(before) {
			t.Errorf("after %s there are %v", what, now)
		}
		holds(m, "v1", "", "")
		g.Serves("v1")
	}

	for name, mod := range map[string]string{"empty": "", "another": "module example.org/other\n", "below": "module bareclaw/below\n"} {
		check.OK(t, os.Mkdir(m.Path(name), 0o700))
		if mod != "" {
			write(name+"/go.mod", mod)
			write(name+"/main.go", "package main\n\nfunc main() {}\n")
		}
		m.Upgrades(harness.ExitFailure, m.Path(name)+" is neither", "--from", m.Path(name))
		m.Upgrades(harness.ExitFailure, "name a program's file, a directory with", "--from", m.Path(name))
	}
	changedNothing("what is not a source")

	const file = "source/internal/buildinfo/buildinfo.go"
	b, err := os.ReadFile(m.Path(file))
	check.OK(t, err)
	release := func(now string) string {
		return strings.Replace(string(b), "var release string", "var release "+now, 1)
	}
	write(file, release("= 9"))
	m.Upgrades(harness.ExitFailure, "internal/buildinfo/buildinfo.go:", "--from", source)
	m.Upgrades(harness.ExitFailure, "does not compile", "--from", source)
	changedNothing("a source that does not compile")

	finish := g.Task("http")
	write(file, release(`= "v9"`))
	write("source/internal/daemon/broken.go", harness.BrokenSource)
	m.Upgrades(harness.ExitFailure, "exit status 7", "--from", source)
	g.Serves("v1")
	if rec := m.Trial(); rec.State != program.WentBack || rec.To.Version != "v9" {
		t.Errorf("the record is %+v", rec)
	}

	check.OK(t, os.Remove(m.Path("source/internal/daemon/broken.go")))
	m.Upgrades(harness.ExitOK, "Upgraded from v1 to v9", "--from", source)
	g.Serves("v9")
	rec := m.Trial()
	if took := rec.EndedAt.Sub(rec.BeganAt); rec.State != program.Confirmed || took < 30*time.Second {
		t.Errorf("after %s the record is %+v", took, rec)
	}
	if old, err := program.Sum(m.Program + ".old"); err != nil || old != rec.From.SHA256 {
		t.Errorf("the program before is not kept: %v", err)
	}
	finish(g)
}
