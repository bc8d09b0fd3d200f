package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"bareclaw/heartbeat/program"
)

// TestUpgradeFromSource upgrades to what is built from a source tree: one that cannot be
// compiled, one whose program fails, and one that stays after a trial of its whole
// length. Directories that are no source of this program are refused.
func TestUpgradeFromSource(t *testing.T) {
	t.Parallel()
	m := newMachine(t, mannerVariable+"=dies")
	m.env = append(append(m.env, goEnv(t)...), "CGO_ENABLED=0")
	m.install("v1", "")
	g := m.start()
	source := m.path("source")
	copySource(t, source)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(m.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := m.glob("bin/*")
	changedNothing := func(what string) {
		t.Helper()
		if u := g.must("GET", "/upgrade", nil, 200); u.str("state") != "none" {
			t.Errorf("after %s the last upgrade is %s", what, u.body)
		}
		if now := m.glob("bin/*"); len(now) != len(before) {
			t.Errorf("after %s there are %v", what, now)
		}
		m.holds("v1", "", "")
		g.serves("v1")
	}

	for name, mod := range map[string]string{"empty": "", "another": "module example.org/other\n", "below": "module bareclaw/below\n"} {
		if err := os.Mkdir(m.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if mod != "" {
			write(name+"/go.mod", mod)
			write(name+"/main.go", "package main\n\nfunc main() {}\n")
		}
		m.upgrades(exitFailure, m.path(name)+" is neither", "--from", m.path(name))
		m.upgrades(exitFailure, "name a program's file, a directory with", "--from", m.path(name))
	}
	changedNothing("what is no source")

	const file = "source/internal/buildinfo/buildinfo.go"
	b, err := os.ReadFile(m.path(file))
	if err != nil {
		t.Fatal(err)
	}
	release := func(now string) string {
		return strings.Replace(string(b), "var release string", "var release "+now, 1)
	}
	write(file, release("= 9"))
	m.upgrades(exitFailure, "internal/buildinfo/buildinfo.go:", "--from", source)
	m.upgrades(exitFailure, "does not compile", "--from", source)
	changedNothing("a source that does not compile")

	id := g.tell("http", "wait "+m.path("go"))
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	write(file, release(`= "v9"`))
	write("source/internal/daemon/broken.go", brokenSource)
	m.upgrades(exitFailure, "exit status 7", "--from", source)
	g.serves("v1")
	if rec := m.trial(); rec.State != program.WentBack || rec.To.Version != "v9" {
		t.Errorf("the record is %+v", rec)
	}

	if err := os.Remove(m.path("source/internal/daemon/broken.go")); err != nil {
		t.Fatal(err)
	}
	m.upgrades(exitOK, "Upgraded from v1 to v9", "--from", source)
	g.serves("v9")
	rec := m.trial()
	if took := rec.EndedAt.Sub(rec.BeganAt); rec.State != program.Confirmed || took < 30*time.Second {
		t.Errorf("after %s the record is %+v", took, rec)
	}
	if old, err := program.Sum(m.program + ".old"); err != nil || old != rec.From.SHA256 {
		t.Errorf("the program before is not kept: %v", err)
	}
	m.touch("go")
	g.outcome(id).want(t, "waited for "+m.path("go"))
	g.balanced()
}
