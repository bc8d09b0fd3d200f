package toolhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/atomicfile"
	"bareclaw/toolhost/api"
)

// protected are the tools that can be neither deleted, nor replaced with dynamic_tool_create.
var protected = []string{api.CreateTool, "hello_world"}

// maxPlan bounds the file that plan_read returns, in bytes.
const maxPlan = 1 << 20

// changeTimeout bounds the calls that restart the tool host or copy its files.
const changeTimeout = time.Minute

// Management returns the tools that look after the tool host.
func (k *Keeper) Management() []tools.Tool {
	const none = `{"type":"object","properties":{},"additionalProperties":false}`
	return []tools.Tool{
		{
			Name: "worker_status", Description: "Show how the tool host does, the process that runs tools.", Input: json.RawMessage(none),
			Annotations: tools.Annotations{ReadOnly: true, Idempotent: true}, Handle: k.status,
		},
		{
			Name: "worker_restart", Description: "Restart the tool host, with all tools loaded anew.", Input: json.RawMessage(none),
			Annotations: tools.Annotations{Idempotent: true}, Timeout: changeTimeout, Handle: k.restart,
		},
		{
			Name: "worker_snapshot", Description: "Keep a copy of all tools, to roll back to.",
			Input:   json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"such as before_experiment"}},"required":["name"]}`),
			Timeout: changeTimeout, Handle: tools.WithArgs(k.snapshot),
		},
		{
			Name: "worker_rollback", Description: "Replace all tools by those of a snapshot. The present tools are kept as a snapshot too.",
			Input:       json.RawMessage(`{"type":"object","properties":{"snapshot":{"type":"string","description":"its id; if left out, the newest one that is not named before_rollback"}}}`),
			Annotations: tools.Annotations{Destructive: true}, Timeout: changeTimeout, Handle: tools.WithArgs(k.rollback),
		},
		{
			Name: "worker_snapshots", Description: "List the snapshots of the tools, the newest first.", Input: json.RawMessage(none),
			Annotations: tools.Annotations{ReadOnly: true, Idempotent: true}, Handle: k.listSnapshots,
		},
		{
			Name: "plan_read", Description: "Read a Markdown file.",
			Input:       json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"absolute path of a .md file"}},"required":["path"]}`),
			Annotations: tools.Annotations{ReadOnly: true, Idempotent: true}, Handle: tools.WithArgs(readPlan),
		},
		{
			Name: "dynamic_tool_delete", Description: "Delete a tool.",
			Input:       json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
			Annotations: tools.Annotations{Destructive: true}, Timeout: changeTimeout, Handle: tools.WithArgs(k.delete),
		},
		createTool(tools.WithArgs(k.create)),
	}
}

func (k *Keeper) restart(ctx context.Context, _ tools.Call) (tools.Result, error) {
	if err := k.replace(ctx, nil); err != nil {
		return tools.Result{}, err
	}
	k.noteRollback("")
	return tools.Result{Text: "Secondary server restarted successfully"}, nil // the words that clients of such servers know
}

// nameArgs are the arguments of tools that take a name.
type nameArgs struct {
	Name string `json:"name"`
}

func (k *Keeper) snapshot(_ context.Context, _ tools.Call, args nameArgs) (tools.Result, error) {
	if err := checkSnapshotName(args.Name); err != nil {
		return tools.Result{}, err
	}
	k.changing.Lock()
	defer k.changing.Unlock()
	sn, err := k.snapshots.create(args.Name, len(k.tools()))
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: "Snapshot created: " + sn.ID}, nil
}

// rollbackArgs are the arguments of worker_rollback.
type rollbackArgs struct {
	Snapshot string `json:"snapshot"`
}

func (k *Keeper) rollback(ctx context.Context, _ tools.Call, args rollbackArgs) (tools.Result, error) {
	k.changing.Lock()
	sn, err := k.snapshots.find(args.Snapshot)
	k.changing.Unlock()
	if err != nil {
		return tools.Result{}, err
	}
	err = k.replace(ctx, func() error {
		k.changing.Lock()
		defer k.changing.Unlock()
		return k.snapshots.restore(sn, len(k.tools()))
	})
	if err != nil {
		return tools.Result{}, err
	}
	k.setRestarts(0)
	k.noteRollback("")
	return tools.Result{Text: "Rolled back to snapshot: " + sn.ID}, nil
}

func (k *Keeper) listSnapshots(context.Context, tools.Call) (tools.Result, error) {
	k.changing.Lock()
	all, err := k.snapshots.list()
	k.changing.Unlock()
	if err != nil {
		return tools.Result{}, err
	}
	lines := make([]string, len(all))
	for i, sn := range all {
		lines[i] = fmt.Sprintf("%s (%d tools, %s)", sn.ID, sn.ToolCount, sn.CreatedAt.Format("2006-01-02T15:04:05.000Z"))
	}
	return tools.Result{Text: cmp.Or(strings.Join(lines, "\n"), "There are no snapshots.")}, nil
}

// planArgs are the arguments of plan_read.
type planArgs struct {
	Path string `json:"path"`
}

// readPlan returns a Markdown file. A symbolic link counts as what it leads to.
func readPlan(_ context.Context, _ tools.Call, args planArgs) (tools.Result, error) {
	switch {
	case !filepath.IsAbs(args.Path):
		return tools.Result{}, fmt.Errorf("path: %q must be an absolute path", args.Path)
	case slices.Contains(strings.Split(args.Path, "/"), ".."):
		return tools.Result{}, fmt.Errorf("path: %q must not lead upwards with .. in it", args.Path)
	}
	path, err := filepath.EvalSymlinks(args.Path)
	if err != nil {
		return tools.Result{}, err
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return tools.Result{}, err
	case !strings.EqualFold(filepath.Ext(path), ".md") || !st.Mode().IsRegular():
		return tools.Result{}, errors.New("path: only regular .md files are read")
	case st.Size() > maxPlan:
		return tools.Result{}, fmt.Errorf("path: the file has %d bytes; at most %d are read", st.Size(), maxPlan)
	}
	f, err := os.Open(path)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = f.Close() }()
	if now, err := f.Stat(); err != nil || !os.SameFile(st, now) { // replaced meanwhile
		return tools.Result{}, errors.Join(errors.New("path: the file has just changed; try again"), err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPlan))
	return tools.Result{Text: strings.ToValidUTF8(string(b), "\uFFFD")}, err
}

// delete deletes a dynamic tool with its file, or a built-in tool until a rollback.
func (k *Keeper) delete(ctx context.Context, _ tools.Call, args nameArgs) (tools.Result, error) {
	return tools.Result{Text: fmt.Sprintf("Tool '%s' deleted successfully", args.Name)}, k.deleteTool(ctx, args.Name)
}

func (k *Keeper) deleteTool(ctx context.Context, name string) error {
	if slices.Contains(protected, name) {
		return fmt.Errorf("name: %q is protected and cannot be deleted", name)
	}
	present, err := k.await(ctx)
	if err != nil {
		return err
	}
	t, ok := k.tools()[name]
	if !ok {
		if _, other := k.o.Registry.Find(name); other {
			return fmt.Errorf("name: %q is a tool of the gateway and cannot be deleted", name)
		}
		return fmt.Errorf("name: there is no tool %q; %s lists all", name, tools.SearchName)
	}
	if err := k.deleteFile(t); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return k.reload(ctx, present)
}

// deleteFile removes the file of a tool, or notes that a built-in tool is deleted.
func (k *Keeper) deleteFile(t api.Tool) error {
	k.changing.Lock()
	defer k.changing.Unlock()
	if t.File != "" {
		return os.Remove(filepath.Join(k.o.ToolsDir, filepath.Base(t.File)))
	}
	path := filepath.Join(k.o.ToolsDir, api.DeletedFile)
	list, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(list) > 0 && list[len(list)-1] != '\n' { // a person has written it
		list = append(list, '\n')
	}
	return atomicfile.Write(path, append(list, t.Name+"\n"...), 0o600)
}

// reload has the tool host read the tools directory, and offers the tools that are there.
func (k *Keeper) reload(ctx context.Context, c *child) error {
	_, err := c.client.reload(ctx)
	if err == nil {
		err = k.refresh(ctx, c)
	}
	return err
}
