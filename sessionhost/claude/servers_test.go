package claude

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestOwnServers reads what claude's own files say of MCP servers.
func TestOwnServers(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "work", "project")
	check.OK(t, os.MkdirAll(dir, 0o700))
	write := func(file, text string) {
		t.Helper()
		check.OK(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write(filepath.Join(home, ".claude.json"), `{"numStartups":3,"mcpServers":{"github":{"type":"stdio","command":"npx","args":["-y","x"]},"odd":7},
		"projects":{"`+dir+`":{"mcpServers":{"docs":{"type":"http","url":"https://example.org/mcp"}}},"/other":{"mcpServers":{"none":{"command":"none"}}}}}`)
	write(filepath.Join(home, "work", ".mcp.json"), `{"mcpServers":{"files":{"command":"files"}}}`)
	write(filepath.Join(dir, ".mcp.json"), `not JSON`)
	var got []string
	for _, s := range OwnServers(dir, "", home) {
		got = append(got, s.Name+" "+s.Command+s.URL)
	}
	if want := []string{"github npx", "odd ", "docs https://example.org/mcp", "files files"}; !slices.Equal(got, want) {
		t.Errorf("the servers are %q, want %q", got, want)
	}
	if got := OwnServers(dir, filepath.Join(home, "nowhere"), home); len(got) != 1 {
		t.Errorf("with another directory of claude: %+v", got)
	}
}
