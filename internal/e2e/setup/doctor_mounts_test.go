package setup

import (
	"encoding/json"
	"os"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/oddserver"
)

const mountsFile = "home/.config/bareclaw/mcp.json"

// server returns the entry of a server with modes in the file of mounted servers.
func server(t *testing.T, modes ...string) map[string]any {
	t.Helper()
	program, args := oddserver.Command(t, modes...)
	return map[string]any{"command": program, "args": args}
}

// mount writes the file of mounted servers.
func mount(m *harness.Machine, mode os.FileMode, servers map[string]any) {
	m.T.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	check.OK(m.T, err)
	m.Write(mountsFile, string(text), mode)
}

func TestDoctorOfMountedServers(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Quick().Fine("mounts", "No servers")
	m.Write(mountsFile, `{"mcpServers": 1}`, 0o600)
	m.Quick().Tells(doctor.Problem, "mounts_unreadable", "mcp.json", "mcpServers")
	mount(m, 0o644, map[string]any{
		"good":    server(t),
		"wrong":   map[string]any{"command": "x", "url": "http://x"},
		"needs":   map[string]any{"command": "x", "args": []string{"${NOBODY_HAS_IT}"}},
		"missing": map[string]any{"command": "no-such-program"},
		"off":     map[string]any{"command": "no-such-program", "disabled": true},
	})
	d := m.Quick()
	d.Tells(doctor.Problem, "mount_unusable", `"wrong"`)
	d.Tells(doctor.Warning, "mount_variable", "needs", "NOBODY_HAS_IT")
	d.Tells(doctor.Warning, "mount_program", "no-such-program", "missing")
	if f := d.Tells(doctor.Problem, "mounts_readable", "chmod 600"); !f.Fixable {
		t.Error("it cannot be mended")
	}
	m.Quick("--fix")
	m.Quick().Silent("mounts_readable")

	mount(m, 0o600, map[string]any{"good": server(t), "exits": server(t, "exit=3"), "odd": server(t, "refused")})
	g := m.Start()
	g.Eventually("the servers are known", func() bool {
		d := m.Quick()
		return d.Find("mount_failing") != nil && d.Find("mount_left_out") != nil
	})
	d = m.Quick()
	d.Tells(doctor.Warning, "mount_failing", "exits", "no token", "bareclaw mount test exits")
	d.Tells(doctor.Warning, "mount_left_out", "odd", "left out 11 tools")
	d.Silent("mount_unusable", "mount_variable", "mount_program", "gateway_unwell")

	words := m.Write("words", "Do something else", 0o600)
	mount(m, 0o600, map[string]any{"good": server(t, "describe="+words)})
	g.Eventually("a change is told", func() bool { return m.Quick().Find("mount_changed") != nil })
	m.Quick().Tells(doctor.Note, "mount_changed", "good", "act")
}
