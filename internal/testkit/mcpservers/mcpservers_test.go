package mcpservers

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/internal/plainjson"
	"bareclaw/internal/testkit/check"
)

// connect starts a server, which ends with the test.
func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
	})
	session, err := client.Connect(t.Context(), transport, nil)
	check.OK(t, err)
	t.Cleanup(func() { _ = session.Close() }) // a server may end with a status
	return session
}

// stdio returns the transport of a server's command, which ends when its session is closed.
func stdio(t *testing.T, s Server) mcp.Transport {
	t.Helper()
	return &mcp.CommandTransport{Command: s.Cmd(context.WithoutCancel(t.Context()), t)}
}

// toolsOf returns the tools that a server lists, in its order.
func toolsOf(t *testing.T, session *mcp.ClientSession) (list []*mcp.Tool) {
	t.Helper()
	for tool, err := range session.Tools(t.Context(), nil) {
		check.OK(t, err)
		list = append(list, tool)
	}
	return list
}

// TestServers holds that each server starts, lists its tools, and carries out a call.
func TestServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(dir, "note.txt"), []byte("forty-two"), 0o600))
	check.OK(t, exec.CommandContext(t.Context(), "git", "init", "--quiet", "--initial-branch=trunk", dir).Run())
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>A page</title><h1>Good morning</h1>"))
	}))
	t.Cleanup(page.Close)
	for _, c := range []struct {
		name   string
		server func(t testing.TB) Server
		tool   string // empty: none is called
		args   map[string]any
		want   string
	}{
		{
			name:   "everything",
			server: Everything,
			tool:   "echo",
			args:   map[string]any{"message": "hello"},
			want:   "hello",
		},
		{
			name:   "filesystem",
			server: func(t testing.TB) Server { return Filesystem(t, dir) },
			tool:   "read_text_file",
			args:   map[string]any{"path": filepath.Join(dir, "note.txt")},
			want:   "forty-two",
		},
		{
			name:   "memory",
			server: func(t testing.TB) Server { return Memory(t, filepath.Join(t.TempDir(), "memory.jsonl")) },
			tool:   "create_entities",
			args: map[string]any{"entities": []any{
				map[string]any{"name": "Ada", "entityType": "person", "observations": []string{"writes programs"}},
			}},
			want: "writes programs",
		},
		{
			name:   "github",
			server: GitHub,
		},
		{
			name:   "browser",
			server: Browser,
			tool:   "browser_navigate",
			args:   map[string]any{"url": page.URL},
			want:   "Page Title: A page",
		},
		{
			name:   "git",
			server: func(t testing.TB) Server { return Git(t, dir) },
			tool:   "git_status",
			args:   map[string]any{"path": dir},
			want:   "note.txt",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := c.server(t)
			session := connect(t, stdio(t, s))
			if n := len(toolsOf(t, session)); n != s.Tools || s.Name != c.name {
				t.Errorf("%s has %d tools, want %d", s.Name, n, s.Tools)
			}
			if c.tool != "" {
				wantResult(t, session, c.tool, c.args, c.want)
			}
		})
	}
}

// wantResult calls a tool, and holds that the result succeeds and has a text.
func wantResult(t *testing.T, session *mcp.ClientSession, tool string, args any, want string) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	check.OK(t, err)
	said, err := json.Marshal(result)
	check.OK(t, err)
	if result.IsError || !strings.Contains(string(said), want) {
		t.Errorf("%s says %s, want %q", tool, said, want)
	}
}

// TestEverythingOverHTTP holds that the server answers over HTTP what it does over its pipes, and that
// its environment is what it was given.
func TestEverythingOverHTTP(t *testing.T) {
	t.Setenv("TEST_SECRET", "tell nobody")
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: EverythingOverHTTP(t)})
	if n := len(toolsOf(t, session)); n != Everything(t).Tools {
		t.Errorf("%d tools, want %d", n, Everything(t).Tools)
	}
	wantResult(t, session, "echo", map[string]any{"message": "hello"}, "hello")
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get-env"})
	check.OK(t, err)
	said, err := json.Marshal(result)
	check.OK(t, err)
	if strings.Contains(string(said), "tell nobody") {
		t.Errorf("the server has the environment of the test: %s", said)
	}
}

// TestRecordings holds the recorded lists to the servers. With BARECLAW_TEST_UPDATE=1 it writes the lists.
func TestRecordings(t *testing.T) {
	t.Parallel()
	servers := All(t, t.TempDir())
	for i, s := range servers {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			listed := encodeLines(t, toolsOf(t, connect(t, stdio(t, s))))
			if os.Getenv("BARECLAW_TEST_UPDATE") != "" {
				check.OK(t, os.WriteFile(recordingOf(s.Name), listed, 0o644))
			}
			recorded, err := os.ReadFile(recordingOf(s.Name))
			check.OK(t, err)
			if string(recorded) != string(listed) {
				t.Errorf("the server lists\n%s\nand the record is\n%s", listed, recorded)
			}
			if s.Name != Names()[i] {
				t.Errorf("Names has %s in the place of %s", Names()[i], s.Name)
			}
		})
	}
	if len(servers) != len(Names()) {
		t.Errorf("%d servers, and %d names", len(servers), len(Names()))
	}
}

// encodeLines returns a JSON array with a tool on each line.
func encodeLines(t *testing.T, tools []*mcp.Tool) []byte {
	t.Helper()
	lines := make([]string, len(tools))
	for i, tool := range tools {
		line, err := plainjson.Marshal(tool)
		check.OK(t, err)
		lines[i] = string(line)
	}
	return []byte("[\n" + strings.Join(lines, ",\n") + "\n]\n")
}

// TestRecorded holds that there is a list for each server.
func TestRecorded(t *testing.T) {
	t.Parallel()
	n := 0
	for _, server := range Names() {
		for _, tool := range Recorded(t, server) {
			if tool.Name == "" || tool.Description == "" || len(tool.InputSchema) == 0 {
				t.Errorf("%s has a tool %+v", server, tool)
			}
			n++
		}
	}
	if n != 115 {
		t.Errorf("%d tools are recorded", n)
	}
}
