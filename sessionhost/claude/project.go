package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bareclaw/internal/humanize"
)

// A ProjectFile is a file that claude obeys without asking when it is started in a directory.
type ProjectFile struct {
	Path string
	Acts []string // what the file has claude do, such as "runs hooks (SessionStart)"
}

const (
	// maxProjectFile bounds what is read of a file, in bytes.
	maxProjectFile = 1 << 20
	// maxNames and maxName bound what is said about a file: its writer chooses the names.
	maxNames = 6
	maxName  = 60
)

// programSettings are the settings whose values are programs that claude runs by itself.
var programSettings = strings.Fields(`apiKeyHelper awsAuthRefresh awsCredentialExport gcpAuthRefresh otelHeadersHelper proxyAuthHelper`)

// ProjectFiles returns the files of a directory, and of those above it, that have claude run
// programs or change its environment without asking: with -p claude asks for no trust. Files in
// configDir are the user's own and are left out.
//
// claude takes settings.json from the directory alone, settings.local.json also from the root
// of its repository, and .mcp.json from all directories above.
func ProjectFiles(dir, configDir string) []ProjectFile {
	var found []ProjectFile
	add := func(path string, acts func(members) []string) {
		if isSameFile(filepath.Dir(path), configDir) {
			return
		}
		switch m, err := readMembers(path); {
		case os.IsNotExist(err):
		case err != nil:
			found = append(found, ProjectFile{path, []string{"cannot be read here: " + err.Error()}})
		default:
			if said := acts(m); len(said) > 0 {
				found = append(found, ProjectFile{path, said})
			}
		}
	}
	add(filepath.Join(dir, ".claude", "settings.json"), settingsActs)
	add(filepath.Join(dir, ".claude", "settings.local.json"), settingsActs)
	if root := repositoryOf(dir); root != "" && root != dir {
		add(filepath.Join(root, ".claude", "settings.local.json"), settingsActs)
	}
	for at := dir; ; at = filepath.Dir(at) {
		add(filepath.Join(at, ".mcp.json"), serverActs)
		if at == filepath.Dir(at) {
			return found
		}
	}
}

func settingsActs(m members) (acts []string) {
	for _, c := range []struct{ text, names string }{
		{"runs hooks (%s)", m.object("hooks").names(nil)},
		{"sets variables (%s)", m.object("env").names(nil)}, // their values may be secrets
		{"runs the programs of %s", m.names(programSettings)},
	} {
		if c.names != "" {
			acts = append(acts, fmt.Sprintf(c.text, c.names))
		}
	}
	return acts
}

func serverActs(m members) []string {
	if names := m.object("mcpServers").names(nil); names != "" {
		return []string{"starts MCP servers (" + names + ")"}
	}
	return nil
}

// members are those of a JSON object.
type members map[string]json.RawMessage

// object returns the members of a member, none if that is no object.
func (m members) object(name string) (o members) {
	_ = json.Unmarshal(m[name], &o) // claude ignores what is no object
	return o
}

// names lists the members that are not empty, only those in among unless that is nil.
func (m members) names(among []string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		empty := slices.Contains([]string{"null", "[]", "{}", `""`}, string(m[name]))
		if !empty && (among == nil || slices.Contains(among, name)) {
			all = append(all, humanize.Shorten(name, maxName))
		}
	}
	if more := len(all) - maxNames; more > 0 {
		all = append(all[:maxNames], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}

// readMembers reads a file, which anybody may have written.
func readMembers(path string) (m members, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a named pipe would wait
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxProjectFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxProjectFile:
		return nil, fmt.Errorf("it has more than %d bytes", maxProjectFile)
	case len(bytes.TrimSpace(b)) == 0:
		return nil, nil
	case json.Unmarshal(bytes.TrimPrefix(b, []byte("\uFEFF")), &m) != nil:
		return nil, errors.New("it is no JSON object")
	}
	return m, nil
}

// repositoryOf returns the root of the repository that holds a directory, empty if none does.
func repositoryOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

func isSameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
