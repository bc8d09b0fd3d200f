package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/realclaude"
)

// page is what clients are told to do.
const page = "docs/mcp.md"

// settle moves the machine's settings to the file of the user: clients give the programs that they
// start little of their environment.
func settle(m *harness.Machine) {
	m.T.Helper()
	var file strings.Builder
	for _, v := range m.Env {
		if strings.HasPrefix(v, "BARECLAW_") {
			file.WriteString(v + "\n")
		}
	}
	dir := m.Path("home/.config/bareclaw")
	check.OK(m.T, os.MkdirAll(dir, 0o700))
	check.OK(m.T, os.WriteFile(filepath.Join(dir, ".env"), []byte(file.String()), 0o600))
}

// TestInspector lists and calls tools with the protocol's own client, over HTTP with the token,
// and over the program that the page's configuration names.
func TestInspector(t *testing.T) {
	modules, node := suites(t)
	m, g := harness.Started(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	m.Installed()
	settle(m)
	config := m.Path("mcp.json")
	for _, b := range harness.Blocks(t, page) {
		if b.Lang == "json" {
			check.OK(t, os.WriteFile(config, []byte(b.Text), 0o600))
		}
	}
	overHTTP := []string{g.Base + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + harness.Token}
	ofBag := slices.Concat([]string{g.Base + "/mcp/bags/orchestration"}, overHTTP[1:])
	overProgram := []string{"--config", config, "--server", "bareclaw"}
	for name, target := range map[string][]string{"http": overHTTP, "bag": ofBag, "program": overProgram} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inspect := func(args ...string) string {
				launcher := filepath.Join(modules, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
				return runNode(t, m.Env, node, append(append([]string{launcher, "--cli"}, target...), args...)...)
			}
			if said := inspect("--method", "tools/list"); !strings.Contains(said, `"name": "channel_list"`) {
				t.Errorf("tools/list: %s", said)
			}
			if said := inspect("--method", "prompts/list"); strings.Contains(said, `"name": "check-app"`) == (name == "bag") {
				t.Errorf("prompts/list: %s", said)
			}
			if said := inspect("--method", "tools/call", "--tool-name", "tool_search", "--tool-arg", "query=channel"); !strings.Contains(said, `"structuredContent": {`) {
				t.Errorf("tools/call: %s", said)
			}
		})
	}
}

// TestClaudeConnects has the real CLI use the gateway's tools as the page says, without a gateway
// that runs.
func TestClaudeConnects(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	t.Cleanup(m.KillHolder) // which claude has started
	m.Installed()
	settle(m)
	check.OK(t, os.Symlink(realclaude.Path(t), m.Path("bin/claude")))
	m.Env = append(m.Env, realclaude.Env(m.Path("home"), "http://127.0.0.1:9")...)
	m.Env = append(m.Env, "PATH="+m.Path("bin")+":"+os.Getenv("PATH"))
	m.AsPrinted(harness.Printed(t, "docs/mcp.md", "claude mcp add"))
	if said := m.AsPrinted("claude mcp list"); !strings.Contains(said, "bareclaw: bareclaw mcp") || !strings.Contains(said, "Connected") {
		t.Errorf("claude says\n%s", said)
	}
}

// TestCurl calls a tool as the page says.
func TestCurl(t *testing.T) {
	harness.NeedCurl(t)
	m, g := harness.Started(t)
	command := harness.Replaced(t, harness.Printed(t, "docs/mcp.md", "curl"), "localhost:3000", g.Base)
	if said := m.AsPrinted(command); !strings.Contains(said, `"structuredContent":{"channels":[]}`) {
		t.Errorf("%s says\n%s", command, said)
	}
}
