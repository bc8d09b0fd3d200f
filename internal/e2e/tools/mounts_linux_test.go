package tools

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/mcpservers"
	"bareclaw/internal/testkit/oddserver"
	"bareclaw/mcp/mounts"
)

// mounted returns a machine with a gateway whose people are asked, and a mounted server of a name.
func mounted(t *testing.T, modes ...string) (*harness.Machine, *harness.Gateway) {
	t.Helper()
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask", "BARECLAW_PERMISSION_MODE=default")
	m.Mount(harness.OddServer(t, "odd", modes...))
	g := m.Start()
	g.AwaitTool("odd_act")
	return m, g
}

// call is what the agent is told to call: by tool_call, which needs no list of tools to come first.
func call(tool string, args oddserver.Args) string {
	encoded, err := json.Marshal(map[string]any{"name": tool, "args": args})
	if err != nil {
		panic(err)
	}
	return "mcp - tool_call " + string(encoded)
}

// asked returns the id of the approval that waits for a tool.
func asked(g *harness.Gateway, tool string) (id string) {
	g.T.Helper()
	g.Eventually("a person is asked about "+tool, func() bool {
		for _, a := range g.Must("GET", "/approvals", nil, 200).Array("approvals") {
			if a.Str("tool") == "mcp__bareclaw__"+tool {
				id = a.Str("id")
			}
		}
		return id != ""
	})
	return id
}

// TestMountedToolAsks: a tool of a mounted server waits for a person, who may allow it for ever, also after a
// restart; what only reads does not.
func TestMountedToolAsks(t *testing.T) {
	_, g := mounted(t)
	says(t, g.Say("desk", call("odd_read", oddserver.Args{Text: "was read"})), "was read")
	id := g.Tell("desk", call("odd_act", oddserver.Args{Text: "was done"}))
	g.Must("POST", "/approvals/"+asked(g, "odd_act"), harness.Obj{"behavior": "allow", "always": true}, 200)
	says(t, g.Outcome(id), "was done")
	says(t, g.Say("desk", call("odd_act", oddserver.Args{Text: "unasked"})), "unasked")
	g.Restart()
	says(t, g.Say("desk", call("odd_act", oddserver.Args{Text: "still unasked"})), "still unasked")
	g.Balanced()
}

// TestMountedCallAcrossDaemons: a call that waits for a person is carried out once, whatever becomes of the gateway
// between the question and the answer.
func TestMountedCallAcrossDaemons(t *testing.T) {
	for name, again := range map[string]func(m *harness.Machine, g *harness.Gateway) *harness.Gateway{
		"killed": func(m *harness.Machine, g *harness.Gateway) *harness.Gateway {
			g.Kill()
			return m.Start()
		},
		"restarted": func(_ *harness.Machine, g *harness.Gateway) *harness.Gateway {
			g.Restart()
			return g
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, g := mounted(t)
			id := g.Tell("desk", call("odd_act", oddserver.Args{Text: "done", Log: m.Path("ran")}))
			approval := asked(g, "odd_act")
			g = again(m, g)
			g.Must("POST", "/approvals/"+approval, harness.Obj{"behavior": "allow"}, 200)
			says(t, g.Outcome(id), "done")
			if n := strings.Count(m.Contents("ran"), "done\n"); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
			g.Balanced()
		})
	}
}

// TestGatewayKilledDuringMountedCall: the turn hears that the outcome is unknown, the call is not carried out again,
// and nothing that the server has started stays.
func TestGatewayKilledDuringMountedCall(t *testing.T) {
	child := t.TempDir() + "/child"
	m, g := mounted(t, "leave="+child)
	ran := m.Path("ran")
	id := g.Tell("desk", call("odd_act", oddserver.Args{Text: "done", Log: ran, Action: "hang"}))
	g.Must("POST", "/approvals/"+asked(g, "odd_act"), harness.Obj{"behavior": "allow"}, 200)
	m.Eventually("the call runs", func() bool {
		_, err := os.Stat(ran)
		return err == nil
	})
	before := m.MountedProcesses()
	if len(before) < 2 {
		t.Fatalf("the server and its child are %v", before)
	}
	g.Kill()
	g = m.Start()
	says(t, g.Outcome(id), "outcome unknown")
	if n := strings.Count(m.Contents("ran"), "done\n"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	for _, p := range before {
		m.Gone(p)
	}
	g.Balanced()
}

// TestMountedServerKilled: the turn hears that the outcome is unknown, and the next call works.
func TestMountedServerKilled(t *testing.T) {
	m, g := mounted(t)
	ran := m.Path("ran")
	id := g.Tell("desk", call("odd_act", oddserver.Args{Text: "done", Log: ran, Action: "hang"}))
	g.Must("POST", "/approvals/"+asked(g, "odd_act"), harness.Obj{"behavior": "allow"}, 200)
	m.Eventually("the call runs", func() bool {
		_, err := os.Stat(ran)
		return err == nil
	})
	m.Slay(m.MountedProcesses()...)
	says(t, g.Outcome(id), "is not known")
	says(t, g.Say("desk", call("odd_read", oddserver.Args{Text: "works"})), "works")
	g.Balanced()
}

// TestGatewayKilledWhileServerStarts: the next gateway ends what the first start of a server has left, and serves
// while the server hangs.
func TestGatewayKilledWhileServerStarts(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	child := m.Path("child")
	m.Mount(harness.OddServer(t, "odd", "hang=initialize", "leave="+child))
	g := m.Start()
	var before []proc.Process
	m.Eventually("the server starts", func() bool {
		before = m.MountedProcesses()
		return len(before) == 2
	})
	g.Say("desk", "echo meanwhile").Want(t, "meanwhile")
	g.Kill()
	check.OK(t, os.Remove(m.Path(harness.MountFile)))
	g = m.Start()
	for _, p := range before {
		m.Gone(p)
	}
	g.Balanced()
}

// TestRealServersSeeNoSecret: a real server runs below the gateway, and sees nothing of its environment.
func TestRealServersSeeNoSecret(t *testing.T) {
	t.Parallel()
	s := mcpservers.Everything(t)
	m := harness.NewMachine(t, "ANTHROPIC_API_KEY=secret-of-claude")
	m.Mount(mounts.Server{Name: "everything", Command: s.Command, Args: s.Args, Env: map[string]string{"SHOWN": "yes"}})
	g := m.Start()
	g.AwaitTool("everything_get-env")
	got := string(g.Must("POST", "/mcp", harness.Obj{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": harness.Obj{"name": "everything_get-env", "arguments": harness.Obj{}},
	}, 200).Body)
	if !strings.Contains(got, "SHOWN") || strings.Contains(got, "secret") {
		t.Errorf("the server sees %s", got)
	}
}
