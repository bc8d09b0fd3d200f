package restart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestSocketOfAKilledDaemon restarts where a daemon with the same process number was
// killed before, as happens in a container whose state is kept: what that has left
// is in nobody's way.
func TestSocketOfAKilledDaemon(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	m.Ahead(func(path string) error { return os.WriteFile(path, nil, 0o600) })
	g.Restart()
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	g.Kill()
	g = m.Start()
	if left := m.Glob("run/handover-*.sock"); len(left) > 0 {
		t.Errorf("%d sockets of processes that are gone are left, as %s", len(left), filepath.Base(left[0]))
	}
	g.Balanced()
}

// TestRestartOnAFullDisk asks for a restart while nothing can be written: the
// gateway goes on as it is and says why.
func TestRestartOnAFullDisk(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.SmallDisk()
	g := m.Start()
	g.Usable("busy")
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	free := m.Fill()
	g.Refusals("busy", 507, "storage_full")
	if a := g.Must("POST", "/restart", nil, 503); a.Str("code") != "restart_failed" {
		t.Errorf("restart says %s", a.Body)
	}
	if h := g.Must("GET", "/health", nil, 200); h.Str("status") != "degraded" || !strings.Contains(string(h.Body), "no space left") {
		t.Errorf("health is %s", h.Body)
	}
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	free()
	g.Usable("busy")
	if h := g.Must("GET", "/health", nil, 200); h.Str("status") != "ok" && !strings.Contains(string(h.Body), "restart") {
		t.Errorf("health is %s", h.Body)
	}
	g.Restart()
	g.Usable("busy")
}
