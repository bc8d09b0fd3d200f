package toolhost

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// protected are the tools that can be neither deleted, nor replaced with dynamic_tool_create.
var protected = []string{api.CreateTool, "hello_world"}

// changeTimeout bounds the calls that restart the tool host or copy its files.
const changeTimeout = time.Minute

// A manager looks after the tool host and its tools, for those who call tools.
type manager struct {
	registry *tools.Registry
	state    *state
	offer    *offer
	files    *toolFiles
	replace  func(ctx context.Context, between func() error) error // see Keeper.replace
}

// tools returns the tools by which the manager is asked. Those that change something reach all
// channels, whose sessions all have the same tools and snapshots.
func (m *manager) tools() []tools.Tool {
	const none = `{"type":"object","properties":{},"additionalProperties":false}`
	return []tools.Tool{
		{
			Name:        "worker_status",
			Description: "Show how the tool host does, the process that runs tools, which files of the tools directory (toolsDir) it cannot load, and why.",
			Input:       json.RawMessage(none),
			Annotations: tools.Annotations{ReadOnly: true, Idempotent: true},
			Category:    tools.Meta,
			Reach:       tools.ReachOwn,
			Handle:      m.status,
		},
		{
			Name:        "worker_restart",
			Description: "Restart the tool host, with all tools loaded anew, also those that were left out.",
			Input:       json.RawMessage(none),
			Annotations: tools.Annotations{Idempotent: true, Destructive: tools.No},
			Category:    tools.Meta,
			Timeout:     changeTimeout,
			Handle:      m.restart,
		},
		{
			Name:        "worker_snapshot",
			Description: "Keep a copy of all tools, to roll back to.",
			Input:       json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"such as before_experiment"}},"required":["name"]}`),
			Annotations: tools.Annotations{Destructive: tools.No},
			Category:    tools.Meta,
			Timeout:     changeTimeout,
			Handle:      tools.WithArgs(m.snapshot),
		},
		{
			Name:        "worker_rollback",
			Description: "Replace all tools by those of a snapshot. The present tools are kept as a snapshot too.",
			Input:       json.RawMessage(`{"type":"object","properties":{"snapshot":{"type":"string","description":"its id; if left out, the newest one that is not named before_rollback"}}}`),
			Annotations: tools.Annotations{Destructive: tools.Yes},
			Category:    tools.Meta,
			Timeout:     changeTimeout,
			Handle:      tools.WithArgs(m.rollback),
		},
		{
			Name:        "worker_snapshots",
			Description: "List the snapshots of the tools, the newest first.",
			Input:       json.RawMessage(none),
			Annotations: tools.Annotations{ReadOnly: true, Idempotent: true},
			Category:    tools.Meta,
			Reach:       tools.ReachOwn,
			Handle:      m.listSnapshots,
		},
		{
			Name:        "plan_read",
			Description: "Read a Markdown file.",
			Input:       json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"absolute path of a .md file"}},"required":["path"]}`),
			Annotations: tools.Annotations{ReadOnly: true, Idempotent: true},
			Category:    tools.Meta,
			Reach:       tools.ReachOwn,
			Handle:      tools.WithArgs(readPlan),
		},
		{
			Name:        "dynamic_tool_delete",
			Description: "Delete a tool.",
			Input:       json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
			Annotations: tools.Annotations{Destructive: tools.Yes},
			Category:    tools.Meta,
			Timeout:     changeTimeout,
			Handle:      tools.WithArgs(m.delete),
		},
		m.readTool(),
		createTool(m.files.tools, tools.WithArgs(m.create)),
	}
}

func (m *manager) status(ctx context.Context, _ tools.Call) (tools.Result, error) {
	now := m.state.statusNow(ctx)
	now.ToolsDir = m.files.tools
	return tools.Object(now)
}

func (m *manager) restart(ctx context.Context, _ tools.Call) (tools.Result, error) {
	if err := m.replace(ctx, nil); err != nil {
		return tools.Result{}, err
	}
	m.state.noteRollback("")
	return tools.Result{Text: "Secondary server restarted successfully"}, nil // the words that clients of such servers know
}

// nameArgs are the arguments of tools that take a name.
type nameArgs struct {
	Name string `json:"name"`
}

func (m *manager) snapshot(ctx context.Context, _ tools.Call, args nameArgs) (tools.Result, error) {
	if err := checkSnapshotName(args.Name); err != nil {
		return tools.Result{}, err
	}
	sn, err := m.files.create(ctx, args.Name, m.offer.count())
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: "Snapshot created: " + sn.ID}, nil
}

// rollbackArgs are the arguments of worker_rollback.
type rollbackArgs struct {
	Snapshot string `json:"snapshot"`
}

func (m *manager) rollback(ctx context.Context, _ tools.Call, args rollbackArgs) (tools.Result, error) {
	sn, err := m.files.find(args.Snapshot)
	if err != nil {
		return tools.Result{}, err
	}
	if err := m.replace(ctx, func() error { return m.files.restore(ctx, sn, m.offer.count()) }); err != nil {
		return tools.Result{}, err
	}
	m.state.forgetCrashes()
	m.state.noteRollback("")
	return tools.Result{Text: "Rolled back to snapshot: " + sn.ID}, nil
}

func (m *manager) listSnapshots(context.Context, tools.Call) (tools.Result, error) {
	all, err := m.files.list()
	if err != nil {
		return tools.Result{}, err
	}
	lines := make([]string, len(all))
	for i, sn := range all {
		lines[i] = fmt.Sprintf("%s (%d tools, %s)", sn.ID, sn.ToolCount, Moment{sn.CreatedAt})
	}
	return tools.Result{Text: cmp.Or(strings.Join(lines, "\n"), "There are no snapshots.")}, nil
}

// delete deletes a dynamic tool with its file, or a built-in tool until a rollback.
func (m *manager) delete(ctx context.Context, _ tools.Call, args nameArgs) (tools.Result, error) {
	return tools.Result{Text: fmt.Sprintf("Tool '%s' deleted successfully", args.Name)}, m.deleteTool(ctx, args.Name)
}

func (m *manager) deleteTool(ctx context.Context, name string) error {
	if slices.Contains(protected, name) {
		return fmt.Errorf("name: %q is protected and cannot be deleted", name)
	}
	present, err := m.state.await(ctx)
	if err != nil {
		return err
	}
	t, ok := m.offer.find(name)
	if !ok {
		if _, other := m.registry.Find(name); other {
			return fmt.Errorf("name: %q is a tool of the gateway and cannot be deleted", name)
		}
		return fmt.Errorf("name: there is no tool %.120q; %s lists all", name, tools.SearchName)
	}
	if err := m.files.remove(t); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	_, err = m.offer.reload(ctx, present)
	return err
}
