package toolhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// readTool is the tool that shows the file of a tool.
const readTool = "dynamic_tool_read"

// shownTool is the result of dynamic_tool_read.
type shownTool struct {
	File    string   `json:"file"`
	Source  string   `json:"source"`
	Problem string   `json:"problem,omitempty"` // why the file is not loaded
	Console []string `json:"console,omitempty"` // of the caller's last call
}

func (m *manager) readTool() tools.Tool {
	return tools.Tool{
		Name:        readTool,
		Description: "Show the file of a tool that was made: its path, its source, why it is not loaded, and what your last call of it has written with console.log.",
		Input:       []byte(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		Annotations: tools.Annotations{ReadOnly: true, Idempotent: true},
		Category:    tools.Meta,
		Reach:       tools.ReachOwn,
		Handle:      tools.WithArgs(m.read),
	}
}

// read shows the file of a tool, also of one that is not loaded.
func (m *manager) read(ctx context.Context, c tools.Call, args nameArgs) (tools.Result, error) {
	if err := api.CheckName(args.Name); err != nil {
		return tools.Result{}, fmt.Errorf("name: %w", err)
	}
	if t, ok := m.registry.Find(args.Name); ok && t.Source != api.Dynamic {
		return tools.Result{}, fmt.Errorf("name: %q has no file: it is a %s tool", args.Name, t.Source)
	}
	name := filepath.Base(m.offer.fileOf(args.Name))
	source, err := m.files.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return tools.Result{}, fmt.Errorf("name: there is no tool %q; %s lists all", args.Name, tools.SearchName)
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("read %s: %w", name, err)
	}
	shown := shownTool{File: filepath.Join(m.files.tools, name), Source: strings.ToValidUTF8(source, "\uFFFD"), Console: m.offer.consoles.of(args.Name, c)}
	if now := m.state.statusNow(ctx); now.Health != nil {
		for _, p := range now.Health.Problems {
			if p.File == name {
				shown.Problem = p.Text
			}
		}
	}
	return tools.Object(shown)
}

// read returns a file of the tools directory, unless a symbolic link leads out of the directory.
func (f *toolFiles) read(name string) (string, error) {
	root, err := os.OpenRoot(f.tools)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	b, err := api.ReadSource(root, name)
	return string(b), err
}
