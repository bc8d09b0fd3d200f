package mcpservers

import (
	"embed"
	"encoding/json"
	"testing"

	"bareclaw/internal/testkit/check"
)

// lists has the tools of each server, as a JSON array by the server's name. TestRecordings holds the lists
// to the servers.
//
//go:embed testdata/lists
var lists embed.FS

// Names returns the names of the servers that All returns, and Recorded knows.
func Names() []string {
	return []string{"everything", "filesystem", "memory", "github", "browser", "git"}
}

// A Tool is a tool as its server lists it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations json.RawMessage `json:"annotations"` // empty: none
}

// Recorded returns the tools of a server without starting it, in its order.
func Recorded(t testing.TB, server string) (tools []Tool) {
	t.Helper()
	content, err := lists.ReadFile(recordingOf(server))
	check.OK(t, err)
	check.OK(t, json.Unmarshal(content, &tools))
	return tools
}

// recordingOf returns the path of a server's list.
func recordingOf(server string) string { return "testdata/lists/" + server + ".json" }
