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
	"bareclaw/internal/samefile"
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
// programs, change its environment or do more without asking: with -p claude asks for no trust.
// Files in configDir are the user's own and are left out.
//
// claude takes settings.json from the directory alone, settings.local.json also from the root
// of its repository, and .mcp.json from all directories above.
func ProjectFiles(dir, configDir string) []ProjectFile {
	var found []ProjectFile
	add := func(path string, acts func(members) []string) {
		if samefile.Paths(filepath.Dir(path), configDir) {
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
	add(filepath.Join(dir, ".claude", "settings.local.json"), localActs)
	if root := repositoryOf(dir); root != "" && root != dir {
		add(filepath.Join(root, ".claude", "settings.local.json"), localActs)
	}
	for at := dir; ; at = filepath.Dir(at) {
		add(filepath.Join(at, ".mcp.json"), serverActs)
		if at == filepath.Dir(at) {
			return found
		}
	}
}

// An act is what a file has claude do, with a verb for the names.
type act struct{ text, names string }

func said(all ...act) (acts []string) {
	for _, a := range all {
		if a.names != "" {
			acts = append(acts, fmt.Sprintf(a.text, a.names))
		}
	}
	return acts
}

// settingsActs knows of the permission modes only the one that claude takes from a project and
// that lets it do more: bypassPermissions and auto of a project count for nothing.
func settingsActs(m members) []string {
	mode := ""
	if m.object("permissions").is("defaultMode", "acceptEdits") {
		mode = "acceptEdits"
	}
	return said(
		act{"runs hooks (%s)", m.object("hooks").names(nil)},
		act{"sets variables (%s)", m.object("env").names(nil)}, // their values may be secrets
		act{"runs the programs of %s", m.names(programSettings)},
		act{"lets Claude edit files unasked (%s)", mode},
	)
}

// localActs adds the permissions that claude takes from settings.local.json alone.
// enableAllProjectMcpServers is not among them: the servers of .mcp.json start without it.
func localActs(m members) []string {
	permissions := m.object("permissions")
	return append(settingsActs(m), said(
		act{"allows tools (%s)", permissions.list("allow")},
		act{"opens directories (%s)", permissions.list("additionalDirectories")},
	)...)
}

func serverActs(m members) []string {
	return said(act{"starts MCP servers (%s)", m.object("mcpServers").names(nil)})
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
			all = append(all, name)
		}
	}
	return joined(all)
}

// is reports whether a member is a text.
func (m members) is(name, text string) bool {
	var s string
	return json.Unmarshal(m[name], &s) == nil && s == text
}

// list lists the texts of a member, none if that is no list of texts.
func (m members) list(name string) string {
	var all []string
	_ = json.Unmarshal(m[name], &all) // claude ignores what is no list
	return joined(all)
}

// joined returns the first names, shortened, and how many more there are.
func joined(all []string) string {
	for i, name := range all {
		all[i] = humanize.Shorten(name, maxName)
	}
	if more := len(all) - maxNames; more > 0 {
		all = append(all[:maxNames], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}

// readMembers reads a file of a project, which anybody may have written.
func readMembers(path string) (m members, err error) { return readObject(path, maxProjectFile) }

// readObject reads a file of at most limit bytes.
func readObject(path string, limit int64) (m members, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a named pipe would wait
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("it has more than %d bytes", limit)
	case len(bytes.TrimSpace(b)) == 0:
		return nil, nil
	case json.Unmarshal(bytes.TrimPrefix(b, []byte("\uFEFF")), &m) != nil:
		return nil, errors.New("it is not a JSON object")
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
