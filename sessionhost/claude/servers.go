package claude

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
)

// An OwnServer is an MCP server that claude starts for itself in each session.
type OwnServer struct {
	Name    string   `json:"-"`
	File    string   `json:"-"` // that describes it
	Command string   `json:"command"`
	Args    []string `json:"args"`
	URL     string   `json:"url"`
}

// maxUserFile bounds what is read of the user's own file, in bytes: claude keeps more in it than servers.
const maxUserFile = 64 << 20

// OwnServers returns the MCP servers that claude starts in a directory by its own configuration: the user's, that of
// the user for the directory, and .mcp.json of the directory and those above it. Files that cannot be read are left
// out. configDir is the value of CLAUDE_CONFIG_DIR; empty: it is unset, and home counts.
func OwnServers(dir, configDir, home string) []OwnServer {
	var found []OwnServer
	add := func(file string, m members) {
		servers := m.object("mcpServers")
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			s := OwnServer{Name: name, File: file}
			_ = json.Unmarshal(servers[name], &s) // claude ignores what is no object
			found = append(found, s)
		}
	}
	if configDir == "" {
		configDir = home
	}
	users := filepath.Join(configDir, ".claude.json")
	if m, err := readObject(users, maxUserFile); err == nil {
		add(users, m)
		add(users, m.object("projects").object(dir))
	}
	for at := dir; at != ""; at = filepath.Dir(at) {
		file := filepath.Join(at, ".mcp.json")
		if m, err := readMembers(file); err == nil {
			add(file, m)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return found
}
