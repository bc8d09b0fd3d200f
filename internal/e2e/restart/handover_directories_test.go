package restart

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// setDotEnv writes the .env of the daemon's working directory.
func setDotEnv(m *harness.Machine, lines ...string) {
	m.T.Helper()
	check.OK(m.T, os.WriteFile(m.Path("work/.env"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

// directoriesInDotEnv has the .env name the directories that the environment named, with
// what replaces them.
func directoriesInDotEnv(m *harness.Machine, replacing ...string) {
	m.T.Helper()
	lines := []string{"BARECLAW_STATE_DIR=" + m.Path("state"), "BARECLAW_RUNTIME_DIR=" + m.Path("run")}
	for _, r := range replacing {
		name, _, _ := strings.Cut(r, "=")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+"=") })
	}
	m.Env = slices.DeleteFunc(slices.Clone(m.Env), func(v string) bool {
		return strings.HasPrefix(v, "BARECLAW_STATE_DIR=") || strings.HasPrefix(v, "BARECLAW_RUNTIME_DIR=")
	})
	setDotEnv(m, append(lines, replacing...)...)
}

// TestRestartIntoAnotherDirectory changes one of the directories that a gateway owns and
// restarts it, in each way: that is refused, with the reason and with what to do, and
// nothing is left in the old directory.
func TestRestartIntoAnotherDirectory(t *testing.T) {
	t.Parallel()
	for variable, old := range map[string]string{"BARECLAW_STATE_DIR": "state", "BARECLAW_RUNTIME_DIR": "run"} {
		t.Run(old, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			m.Install("v1", "")
			directoriesInDotEnv(m)
			g := m.Start()
			generation := g.Generation()
			finish := g.Task("http")
			directoriesInDotEnv(m, variable+"="+m.Path("other"))
			refused := func(said string) {
				t.Helper()
				for _, want := range []string{variable, m.Path(old), m.Path("other"), "stop", "start"} {
					if !strings.Contains(said, want) {
						t.Errorf("%q is not in %s", want, said)
					}
				}
			}
			a := g.Must("POST", "/restart", nil, 503)
			if a.Str("code") != "restart_failed" {
				t.Errorf("restart is refused with %s", a.Body)
			}
			refused(a.Str("error"))
			a = g.Must("POST", "/upgrade", harness.Obj{"path": harness.ReleaseOf(t, "v2")}, 503)
			if a.Str("code") != "upgrade_failed" {
				t.Errorf("upgrade is refused with %s", a.Body)
			}
			refused(a.Str("error"))
			refusals := func(n int) func() bool {
				return func() bool { return strings.Count(m.Log.String(), `"not restarted"`) == n }
			}
			m.Eventually("both refusals are logged", refusals(2)) // after the answers
			check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP))
			m.Eventually("SIGHUP is refused", refusals(3))
			lines := strings.Split(m.Log.String(), "\n")
			refused(lines[slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"not restarted"`) })])
			if h := g.Must("GET", "/health", nil, 200); h.Number("generation") != generation || h.Str("version") != "v1" {
				t.Errorf("health is %s", h.Body)
			}
			if left := m.Glob("other/*"); len(left) != 0 {
				t.Errorf("%q were made", left)
			}
			directoriesInDotEnv(m)
			g.Must("POST", "/restart", nil, 200)
			g.Restarted(generation)
			finish(g)
		})
	}
}

// TestRestartIntoTheSameDirectory names the state directory that the gateway has by another path:
// that is no change. Another path of the runtime directory may be turned elsewhere, and is refused.
func TestRestartIntoTheSameDirectory(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	directoriesInDotEnv(m)
	g := m.Start()
	generation := g.Generation()
	finish := g.Task("http")
	for _, dir := range []string{"state", "run"} {
		check.OK(t, os.Symlink(m.Path(dir), m.Path(dir+"-link")))
	}
	directoriesInDotEnv(m, "BARECLAW_STATE_DIR="+m.Path("state-link"), "BARECLAW_RUNTIME_DIR="+m.Path("run-link"))
	if refused := g.Must("POST", "/restart", nil, 503); !strings.Contains(refused.Str("error"), "run-link is a symbolic link") {
		t.Errorf("a link to the runtime directory: %s", refused.Body)
	}
	directoriesInDotEnv(m, "BARECLAW_STATE_DIR="+m.Path("state-link"))
	g.Must("POST", "/restart", nil, 200)
	g.Restarted(generation)
	finish(g)
}
