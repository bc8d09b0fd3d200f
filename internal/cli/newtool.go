package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
	toolhost "bareclaw/toolhost/api"
)

// errToolsInSession refuses commands that need the gateway's tools directory, which a session
// does not know.
var errToolsInSession = errors.New("a session does not know the gateway's tools directory; call the tools dynamic_tool_create and worker_snapshots")

// toolTemplate is the file of a new tool, whose name is my_tool.
//
//go:embed newtool.ts
var toolTemplate string

type toolNew struct {
	Name string `arg:"" help:"The tool's name: lowercase letters, digits and _, at most 50."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*toolNew) Help() string {
	return "The file NAME.ts is a small tool with comments. Change it as you like: the gateway loads what you save, without a restart."
}

// Run runs the command. It works without a gateway.
func (n *toolNew) Run(c *command.Context, gateway *client.Client) error {
	if command.InSession() {
		return errToolsInSession
	}
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	if err := toolhost.CheckName(n.Name); err != nil {
		return command.Usagef("the name %w", err)
	}
	var all struct{ Tools []client.Tool }
	err = gateway.MCP(c.Context, "tools/list", struct{}{}, &all)
	runs := err == nil
	if err != nil && !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	for _, t := range all.Tools {
		if t.Name == n.Name {
			return fmt.Errorf("there is a tool %s already (%s); choose another name", n.Name, t.Meta.Source)
		}
	}
	file := filepath.Join(cfg.ToolsDir(), n.Name+".ts")
	if err := writeNew(file, strings.ReplaceAll(toolTemplate, "my_tool", n.Name)); err != nil {
		return err
	}
	say := func(format string, args ...any) {
		if !n.JSON {
			c.Sayf(format, args...)
		}
	}
	made := func(loaded bool) error {
		if n.JSON {
			return c.PrintJSON(map[string]any{"name": n.Name, "file": file, "loaded": loaded})
		}
		return nil
	}
	say("Made %s.", term.SafeLine(file))
	if !runs {
		say("The gateway loads the tool when it runs: bareclaw start")
		return made(false)
	}
	loaded, why, err := loadTool(c, gateway, filepath.Base(file))
	refused, isRefusal := errors.AsType[*client.Error](err)
	switch {
	case isRefusal && refused.Status == http.StatusServiceUnavailable:
		say("The tool host does not run at this moment, and loads the tool when it does: bareclaw status")
		return made(false)
	case err != nil:
		return err
	case !loaded:
		return fmt.Errorf("the tool is not loaded: %s", why)
	}
	say("The gateway has loaded the tool. Try it, change the file, and try again: bareclaw tools call %s '{\"text\": \"hello\"}'", n.Name)
	say("What cannot be loaded is in `bareclaw status`, with line and column; the version before goes on serving.")
	return made(true)
}

// writeNew writes a file that must not exist, in a directory that may be missing.
func writeNew(file, text string) error {
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err != nil {
		return fmt.Errorf("make the tools directory (BARECLAW_TOOLS_DIR): %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; change it, or choose another name", file)
	}
	if err != nil {
		return fmt.Errorf("write the tool: %w", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the tool: %w", err)
	}
	return nil
}
