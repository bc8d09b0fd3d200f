package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	registry "bareclaw/core/tools"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/shortid"
	"bareclaw/internal/term"
	toolhost "bareclaw/toolhost/api"
)

type tools struct {
	List      toolList      `cmd:"" default:"withargs" help:"List the tools that Claude and other clients may call."`
	Call      toolCall      `cmd:"" help:"Call a tool and print the result."`
	New       toolNew       `cmd:"" help:"Begin a tool: write its file into the tools directory."`
	Snapshots toolSnapshots `cmd:"" help:"List the snapshots of the tools."`
	Snapshot  toolSnapshot  `cmd:"" help:"Keep a copy of all tools, to roll back to."`
	Rollback  toolRollback  `cmd:"" help:"Replace all tools by those of a snapshot."`
}

type toolList listed

// toolWidth is how much of a tool's name a table shows, in cells.
const toolWidth = 32

// Run runs the command.
func (l *toolList) Run(c *command.Context, gateway *client.Client) error {
	var reply json.RawMessage
	if err := gateway.MCP(c.Context, "tools/list", struct{}{}, &reply); err != nil {
		return err
	}
	return printReply(c, reply, l.JSON, func(got *struct{ Tools []client.Tool }) error {
		t := &command.Table{Widest: []int{toolWidth}}
		t.Head(term.Faint, "TOOL", "SOURCE", "DESCRIPTION")
		for _, tool := range got.Tools {
			t.Add(command.Text(tool.Name).Painted(term.Bold), command.Text(sourceOf(&tool)), command.Text(wordsOf(&tool)))
		}
		if err := c.PrintTable(t); err != nil {
			return err
		}
		var health toolhost.Health
		err := c.Get(gateway, toolHostPath(toolhost.PathHealth), &health)
		switch {
		case err != nil:
			c.Tellf("%s", term.WrapIndented(c.Err, "", "Tools may be missing: "+command.ErrorText(err)))
		case health.LastError != nil:
			c.Tellf("%s", term.WrapIndented(c.Err, "", "Not all files of tools are loaded: "+term.Safe(*health.LastError)))
		}
		return nil
	})
}

// sourceOf says where a tool comes from: from a source, or from a mounted server, whose name tells more.
func sourceOf(t *client.Tool) string {
	if t.Meta.Mount == "" {
		return t.Meta.Source
	}
	return t.Meta.Source + " " + t.Meta.Mount
}

// wordsOf returns the description of a tool without the mark of a mounted server, whose name stands beside it.
func wordsOf(t *client.Tool) string {
	if t.Meta.Mount == "" {
		return t.Description
	}
	return strings.TrimPrefix(t.Description, registry.MarkOf(t.Meta.Mount))
}

type toolCall struct {
	Tool string `arg:"" help:"The tool."`
	Args string `arg:"" optional:"" default:"{}" help:"Its arguments, a JSON object; - reads them from standard input."`
	JSON bool   `name:"json" help:"Print the whole result, as MCP has it."`
}

// Help is shown below the summary.
func (*toolCall) Help() string {
	return "A result with structure is printed as JSON, any other result as text. " +
		"If the tool fails, its text goes to standard error, and the exit status is 1.\n\n" +
		"Example: bareclaw tools call hello_world '{\"name\": \"you\"}'"
}

// Run runs the command.
func (t *toolCall) Run(c *command.Context, gateway *client.Client) error {
	text, err := command.MessageText(c, t.Args)
	if err != nil {
		return err
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &args); err != nil || args == nil {
		return command.Usagef("the arguments must be a JSON object, such as '{\"text\": \"hello\"}'")
	}
	// A file that was just saved counts. If the tool host does not answer, the call says why.
	_ = gateway.Do(c.Context, http.MethodPost, toolHostPath(toolhost.PathReload), nil, nil)
	return callTool(c, gateway, t.Tool, json.RawMessage(text), t.JSON)
}

// callTool calls a tool and prints the result.
func callTool(c *command.Context, gateway *client.Client, name string, args json.RawMessage, asJSON bool) error {
	wheel := command.StartSpinner(c.Err, "Calling "+term.SafeLine(name))
	var reply json.RawMessage
	err := gateway.CallTool(c.Context, name, args, func(approval string) {
		wheel.Say("Waiting for a person, who allows it with: bareclaw approvals allow " + term.SafeLine(shortid.Of(approval)))
	}, &reply)
	wheel.End()
	switch refused, isRefusal := errors.AsType[*client.Error](err); {
	case isRefusal && refused.RPC == client.CodeInvalidParams:
		return fmt.Errorf("%w; `bareclaw tools` lists all", err)
	case errors.Is(err, client.ErrCut):
		return cutError(c, gateway, name, args)
	case err != nil:
		return err
	}
	var result client.ToolResult
	if err := json.Unmarshal(reply, &result); err != nil {
		return fmt.Errorf("understand the gateway's reply: %w", err)
	}
	text, attached := textOf(&result)
	switch {
	case asJSON:
		err = c.PrintJSON(reply)
	case result.IsError:
		c.Tellf("bareclaw: %s", command.ErrorText(errors.New(text)))
	case result.Structured != nil:
		err = c.PrintIndented(result.Structured)
	case term.IsTerminal(c.Out) && text != "":
		err = c.PrintLines(term.Safe(text))
	case text != "" || len(attached) == 0:
		err = c.PrintLines(text) // unchanged for a program
	}
	if !asJSON {
		for _, line := range attached {
			c.Tellf("%s", line)
		}
	}
	if err == nil && result.IsError {
		err = command.ErrFailed
	}
	return err
}

// returnLimit is how long a command waits for the next process of a gateway that has ended.
const returnLimit = 5 * time.Second

// cutError says what to do about a call that the end of the gateway has cut. It waits a moment for the next
// process, which knows the tool.
func cutError(c *command.Context, gateway *client.Client, name string, args json.RawMessage) error {
	ctx, stop := context.WithTimeout(c.Context, returnLimit)
	defer stop()
	pauses := client.NewBackoff()
	for {
		tool, err := gateway.ToolOf(ctx, api.PathMCP, name, args)
		switch {
		case err == nil && tool.MayRunAgain():
			return fmt.Errorf("%w: call %s again, which does no harm if it was carried out", client.ErrCut, name)
		case err == nil || pauses.Sleep(ctx) != nil:
			return fmt.Errorf("%w, and whether %s was carried out is not known: look before you call it again", client.ErrCut, name)
		}
	}
}

// textOf returns the text of a result, and a line for each part that is no text.
func textOf(r *client.ToolResult) (text string, attached []string) {
	var texts []string
	for i := range r.Content {
		if b := &r.Content[i]; b.Type == "text" {
			texts = append(texts, b.Text)
		} else {
			attached = append(attached, term.SafeLine(describeBlock(b)))
		}
	}
	return strings.TrimRight(strings.Join(texts, "\n"), "\n"), attached
}

// describeBlock says in a line what a part of a result is.
func describeBlock(b *client.ContentBlock) string {
	words := []string{b.Type}
	add := func(word string) {
		if word != "" {
			words = append(words, word)
		}
	}
	add(cmp.Or(b.URI, b.Resource.URI))
	add(cmp.Or(b.MIMEType, b.Resource.MIMEType))
	line := strings.Join(words, " ")
	if n := len(b.Data) + len(b.Resource.Blob); n > 0 {
		line += ", " + humanize.Bytes(uint64(n))
	}
	return "[" + line + "]"
}

type toolSnapshots listed

// Run runs the command. It needs no gateway.
func (s *toolSnapshots) Run(c *command.Context) error {
	all, err := snapshots(c)
	if err != nil {
		return err
	}
	if s.JSON {
		return c.PrintJSON(map[string]any{"snapshots": append([]toolhost.Snapshot{}, all...)})
	}
	if len(all) == 0 {
		c.Tellf("There are no snapshots yet. The gateway makes the first one when it is started.")
		return nil
	}
	t, now := &command.Table{}, time.Now()
	t.Head(term.Faint, "SNAPSHOT", "TOOLS", "MADE")
	for _, sn := range all {
		t.Add(command.Text(sn.ID).Painted(term.Bold), command.Text(strconv.Itoa(sn.ToolCount)), command.Text(humanize.Ago(sn.CreatedAt, now)))
	}
	return c.PrintTable(t)
}

// snapshots returns the snapshots of the tools, the newest first.
func snapshots(c *command.Context) ([]toolhost.Snapshot, error) {
	if command.InSession() {
		return nil, errToolsInSession
	}
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	return toolhost.Snapshots(toolhost.SnapshotsDir(cfg.ToolsDir()))
}

type toolSnapshot struct {
	Name string `arg:"" help:"Its name, such as before_experiment; the id is the name and the time."`
	JSON bool   `name:"json" help:"Print the whole result, as MCP has it."`
}

// Run runs the command.
func (s *toolSnapshot) Run(c *command.Context, gateway *client.Client) error {
	return callTool(c, gateway, "worker_snapshot", encoded(map[string]string{"name": s.Name}), s.JSON)
}

type toolRollback struct {
	Snapshot string `arg:"" optional:"" help:"The snapshot's id, as snapshots shows it; the newest one that no rollback has made if left out."`
	Yes      bool   `help:"Do not ask."`
	JSON     bool   `name:"json" help:"Print the whole result, as MCP has it."`
}

// Help is shown below the summary.
func (*toolRollback) Help() string {
	return "What is replaced is kept as a snapshot before_rollback_…, to which you can roll back in turn."
}

// Run runs the command.
func (r *toolRollback) Run(c *command.Context, gateway *client.Client) error {
	args := map[string]string{}
	to := "the newest snapshot"
	if r.Snapshot != "" {
		args["snapshot"], to = r.Snapshot, "the snapshot "+term.SafeLine(r.Snapshot)
	}
	if !r.Yes {
		if err := c.Confirm("This replaces all tools by those of " + to + ". The present tools are kept as a snapshot. Go on?"); err != nil {
			return err
		}
	}
	return callTool(c, gateway, "worker_rollback", encoded(args), r.JSON)
}

func encoded(args map[string]string) json.RawMessage {
	b, _ := json.Marshal(args) // strings can be encoded
	return b
}

// toolNames returns the names of all tools.
func toolNames(c *command.Context, gateway *client.Client) (names []string, err error) {
	var got struct{ Tools []client.Tool }
	err = gateway.MCP(c.Context, "tools/list", struct{}{}, &got)
	for _, t := range got.Tools {
		names = append(names, t.Name)
	}
	return names, err
}

// snapshotIDs returns the ids of all snapshots of the tools.
func snapshotIDs(c *command.Context) (ids []string, err error) {
	all, err := snapshots(c)
	for _, sn := range all {
		ids = append(ids, sn.ID)
	}
	return ids, err
}

// toolHostPath returns the path of the tool host in the gateway's API.
func toolHostPath(path string) string { return api.PathToolHost + path }

// loadTool has the gateway read the tools directory, and returns whether a file defines a tool
// now, and else why not.
func loadTool(c *command.Context, gateway *client.Client, file string) (loaded bool, why string, err error) {
	if err := gateway.Do(c.Context, http.MethodPost, toolHostPath(toolhost.PathReload), nil, nil); err != nil {
		return false, "", err
	}
	var all []toolhost.Tool
	if err := gateway.Do(c.Context, http.MethodGet, toolHostPath(toolhost.PathTools), nil, &all); err != nil {
		return false, "", err
	}
	for _, t := range all {
		if t.File == file {
			return true, "", nil
		}
	}
	var health toolhost.Health
	if err := gateway.Do(c.Context, http.MethodGet, toolHostPath(toolhost.PathHealth), nil, &health); err != nil {
		return false, "", err
	}
	why = "the gateway has another tools directory (BARECLAW_TOOLS_DIR); `bareclaw restart` reads the settings anew"
	for _, p := range health.Problems {
		if p.File == file {
			why = p.Text
		}
	}
	return false, why, nil
}
