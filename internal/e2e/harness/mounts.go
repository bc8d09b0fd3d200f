package harness

import (
	"os"
	"strings"
	"testing"

	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/oddserver"
	"bareclaw/mcp/mounts"
)

// MountFile is the file of mounted servers.
const MountFile = "home/.config/bareclaw/" + mounts.FileName

// Mount mounts a server in the place of one of its name.
func (m *Machine) Mount(s mounts.Server) {
	m.T.Helper()
	m.Write("home/.config/bareclaw/.keep", "", 0o600) // makes the directory
	file, err := mounts.Read(m.Path(MountFile))
	check.OK(m.T, err)
	check.OK(m.T, file.Put(s))
	check.OK(m.T, file.Write(m.Path(MountFile)))
}

// OddServer returns a server that starts the package oddserver with modes.
func OddServer(t testing.TB, name string, modes ...string) mounts.Server {
	t.Helper()
	s := mounts.Server{Name: name}
	s.Command, s.Args = oddserver.Command(t, modes...)
	return s
}

// AwaitTool waits until the gateway offers a tool.
func (g *Gateway) AwaitTool(name string) {
	g.T.Helper()
	g.Eventually("the tool "+name, func() bool {
		found := g.Must("POST", "/mcp", Obj{
			"jsonrpc": "2.0", "id": 1, "method": "tools/call",
			"params": Obj{"name": "tool_search", "arguments": Obj{"query": "select:" + name}},
		}, 200)
		return strings.Contains(string(found.Body), `"name":"`+name+`"`)
	})
}

// MountedProcesses returns the processes of mounted servers of the machine.
func (m *Machine) MountedProcesses() []proc.Process {
	m.T.Helper()
	home := m.Path("home")
	servers, err := proc.ByEnviron(mounts.MarkVariable, func(string) bool { return true })
	check.OK(m.T, err)
	own, err := proc.ByEnviron("HOME", func(value string) bool { return value == home })
	check.OK(m.T, err)
	var both []proc.Process
	for _, p := range servers {
		for _, o := range own {
			if p == o && p.PID != os.Getpid() {
				both = append(both, p)
			}
		}
	}
	return both
}
