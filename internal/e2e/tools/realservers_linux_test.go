package tools

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/mcpservers"
	"bareclaw/mcp/mounts"
)

// mountReal mounts a real server.
func mountReal(m *harness.Machine, s mcpservers.Server, change func(s *mounts.Server)) {
	m.T.Helper()
	mounted := mounts.Server{Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env}
	if change != nil {
		change(&mounted)
	}
	m.Mount(mounted)
}

// listed returns the names of the tools at a path of MCP, and the size of the list in bytes.
func listed(g *harness.Gateway, path string) (names []string, size int) {
	g.T.Helper()
	answer := g.Must("POST", path, harness.Obj{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": harness.Obj{}}, 200)
	var list struct {
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	check.OK(g.T, json.Unmarshal(answer.Body, &list))
	for _, t := range list.Result.Tools {
		names = append(names, t.Name)
	}
	return names, len(answer.Body)
}

// TestRealServers mounts six servers of other people: all their tools are offered, a bag has those of its category, and
// a tool of each that needs no account works.
func TestRealServers(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	work := m.Path("work")
	for _, args := range [][]string{{"init", "-q", work}, {"-C", work, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "begin"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	m.Write("work/note.txt", "words in a file", 0o600)
	total := 0
	for _, s := range mcpservers.All(t, work) {
		total += s.Tools
		mountReal(m, s, nil)
	}
	g := m.Start()
	var all []string
	var size int
	m.Eventually("all tools are known", func() bool {
		all, size = listed(g, "/mcp")
		n := 0
		for _, s := range mcpservers.Names() {
			for _, name := range all {
				if strings.HasPrefix(name, s+"_") {
					n++
				}
			}
		}
		return n >= total
	})
	browser, small := listed(g, "/mcp/bags/browser")
	t.Logf("tools/list has %d tools and %d bytes, of the bag browser %d tools and %d bytes", len(all), size, len(browser), small)
	if len(browser) < 25 || len(browser) > 40 || small*3 > size {
		t.Errorf("the bag browser has %d tools and %d of %d bytes: %v", len(browser), small, size, browser)
	}
	for _, c := range []struct{ tool, args, want string }{
		{"everything_echo", `{"message":"hello"}`, "Echo: hello"},
		{"filesystem_read_text_file", fmt.Sprintf(`{"path":%q}`, work+"/note.txt"), "words in a file"},
		{"memory_read_graph", `{}`, "entities"},
		{"git_status", fmt.Sprintf(`{"path":%q}`, work), "note.txt"},
	} {
		if got := called(g, c.tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s says %s", c.tool, got)
		}
	}
}

// called returns the answer of MCP to a call of a client of the user.
func called(g *harness.Gateway, tool, args string) string {
	g.T.Helper()
	return string(g.Must("POST", "/mcp", harness.Obj{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": harness.Obj{"name": tool, "arguments": json.RawMessage(args)},
	}, 200).Body)
}

// TestRealBrowsers: three channels use a browser at once, and each has its own.
func TestRealBrowsers(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<title>Page %s</title><h1>Page %s</h1>", r.URL.Path[1:], r.URL.Path[1:])
	}))
	t.Cleanup(site.Close)
	m := harness.NewMachine(t)
	mountReal(m, mcpservers.Browser(t), func(s *mounts.Server) {
		s.Scope = mounts.PerCaller
		s.Allow = []string{"*"}
	})
	g := m.Start()
	g.AwaitTool("browser_navigate")
	var users sync.WaitGroup
	for _, name := range []string{"one", "two", "three"} {
		users.Go(func() {
			shown := g.Say(name, `mcp - tool_call {"name":"browser_navigate","args":{"url":"`+site.URL+"/"+name+`"}}`).Str("text")
			again := g.Say(name, `mcp - tool_call {"name":"browser_snapshot","args":{}}`).Str("text")
			if !strings.Contains(shown, "Page "+name) || !strings.Contains(again, "Page "+name) {
				t.Errorf("channel %s sees %.500s, then %.500s", name, shown, again)
			}
		})
	}
	users.Wait()
	browsers := 0
	for _, server := range g.Must("GET", "/mounts", nil, 200).Array("mounts") {
		browsers += len(server.Array("instances"))
	}
	if browsers != 3 {
		t.Errorf("%d browsers run", browsers)
	}
	g.EndsAll()
}
