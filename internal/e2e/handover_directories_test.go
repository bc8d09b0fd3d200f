package e2e

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// setDotEnv writes the .env of the daemon's working directory.
func (m *machine) setDotEnv(lines ...string) {
	m.t.Helper()
	if err := os.WriteFile(m.path("work/.env"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// directoriesInDotEnv has the .env name the directories that the environment named, with
// what replaces them.
func (m *machine) directoriesInDotEnv(replacing ...string) {
	m.t.Helper()
	lines := []string{"BARECLAW_STATE_DIR=" + m.path("state"), "BARECLAW_RUNTIME_DIR=" + m.path("run")}
	for _, r := range replacing {
		name, _, _ := strings.Cut(r, "=")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+"=") })
	}
	m.env = slices.DeleteFunc(slices.Clone(m.env), func(v string) bool {
		return strings.HasPrefix(v, "BARECLAW_STATE_DIR=") || strings.HasPrefix(v, "BARECLAW_RUNTIME_DIR=")
	})
	m.setDotEnv(append(lines, replacing...)...)
}

// TestRestartIntoAnotherDirectory changes one of the directories that a gateway owns and
// restarts it, in each way: that is refused, with the reason and with what to do, and
// nothing is left in the old directory.
func TestRestartIntoAnotherDirectory(t *testing.T) {
	t.Parallel()
	for variable, old := range map[string]string{"BARECLAW_STATE_DIR": "state", "BARECLAW_RUNTIME_DIR": "run"} {
		t.Run(old, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.install("v1", "")
			m.directoriesInDotEnv()
			g := m.start()
			generation := g.generation()
			id := g.tell("http", "wait "+m.path("go"))
			m.eventually("turn runs", func() bool { return m.begun("wait ") == 1 })
			m.directoriesInDotEnv(variable + "=" + m.path("other"))
			refused := func(said string) {
				t.Helper()
				for _, want := range []string{variable, m.path(old), m.path("other"), "stop", "start"} {
					if !strings.Contains(said, want) {
						t.Errorf("%q is not in %s", want, said)
					}
				}
			}
			a := g.must("POST", "/restart", nil, 503)
			if a.str("code") != "restart_failed" {
				t.Errorf("restart is refused with %s", a.body)
			}
			refused(a.str("error"))
			a = g.must("POST", "/upgrade", obj{"path": releaseOf(t, "v2")}, 503)
			if a.str("code") != "upgrade_failed" {
				t.Errorf("upgrade is refused with %s", a.body)
			}
			refused(a.str("error"))
			before := strings.Count(m.log.String(), `"not restarted"`)
			if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			m.eventually("SIGHUP is refused", func() bool { return strings.Count(m.log.String(), `"not restarted"`) > before })
			lines := strings.Split(m.log.String(), "\n")
			refused(lines[slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"not restarted"`) })])
			if h := g.must("GET", "/health", nil, 200); h.number("generation") != generation || h.str("version") != "v1" {
				t.Errorf("health is %s", h.body)
			}
			if left := m.glob("other/*"); len(left) != 0 {
				t.Errorf("%q were made", left)
			}
			m.directoriesInDotEnv()
			g.must("POST", "/restart", nil, 200)
			g.restarted(generation)
			m.touch("go")
			g.outcome(id).want(t, "waited for "+m.path("go"))
			g.balanced()
		})
	}
}

// TestRestartIntoTheSameDirectory names the directories that the gateway has by another
// path: that is no change.
func TestRestartIntoTheSameDirectory(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.directoriesInDotEnv()
	g := m.start()
	generation := g.generation()
	id := g.tell("http", "wait "+m.path("go"))
	m.eventually("turn runs", func() bool { return m.begun("wait ") == 1 })
	for _, dir := range []string{"state", "run"} {
		if err := os.Symlink(m.path(dir), m.path(dir+"-link")); err != nil {
			t.Fatal(err)
		}
	}
	m.directoriesInDotEnv("BARECLAW_STATE_DIR="+m.path("state-link"), "BARECLAW_RUNTIME_DIR="+m.path("run-link"))
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	m.touch("go")
	g.outcome(id).want(t, "waited for "+m.path("go"))
	g.balanced()
}
