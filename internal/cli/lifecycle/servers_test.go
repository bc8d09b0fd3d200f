package lifecycle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/mcp/mounts"
)

// TestServersOfBackup lists which tools of mounted servers run unasked, and no secret.
func TestServersOfBackup(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), mounts.FileName)
	check.OK(t, os.WriteFile(path, []byte(`{"mcpServers": {
		"a": {"command": "npx", "args": ["srv", "--api-key", "hunter2", "--token=hunter2", "-e", "DB_PASSWORD=hunter2", "--key", "--port", "80"],
			"allow": ["*", "read-only"], "cwd": "/srv", "env": {"Y": "hunter2", "X": "hunter2"}},
		"b": {"url": "https://user.example/hunter2/mcp?k=hunter2", "headers": {"Authorization": "hunter2"}},
		"c": {"command": "odd", "allow": [], "disabled": true},
		"d": {"command": "odd", "cwd": "relative"}}}`), 0o600))
	got := strings.Join(serversIn(path), "\n")
	const want = `a: npx srv --api-key *** --token=*** -e DB_PASSWORD=*** --key --port 80
a: runs unasked: *, read-only
a: in the directory /srv
a: with the variables X, Y
b: https://user.example
b: runs unasked: read-only
b: with the headers Authorization
c: odd
c: runs unasked: nothing
c: disabled
server "d": cwd: it must be an absolute path`
	if got != want {
		t.Errorf("the servers are listed as\n%s\nwant\n%s", got, want)
	}
}
