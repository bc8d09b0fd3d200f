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

// protected are the tools that cannot be deleted or replaced.
var protected = []string{api.CreateTool, "hello_world"}

// maxPlan bounds the file that plan_read returns, in bytes.
const maxPlan = 1 << 20

// changeTimeout bounds the calls that restart the tool host or copy its files.
const changeTimeout = time.Minute

// Management returns the tools that look after the tool host.
func (h *Host) Management() []tools.Tool {
	const none = `{"type":"object","properties":{},"additionalProperties":false}`
	return []tools.Tool{
		{
			Name: "worker_status", Description: "Show how the tool host does, the process that runs tools.", Input: json.RawMessage(none),
			Annotations: tools.Annotations{ReadOnly: true, Idempotent: true}, Handle: h.status,
		},
		{
			Name: "worker_restart", Description: "Restart the tool host, with all tools loaded anew.", Input: json.RawMessage(none),
			Annotations: tools.Annotations{Idempotent: true}, Timeout: changeTimeout, Handle: h.restart,
		},
		{
			Name: "worker_snapshot", Description: "Keep a copy of all tools, to roll back to.",
			Input:   json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"such as before_experiment"}},"required":["name"]}`),
			Timeout: changeTimeout, Handle: h.snapshot,
		},
		{
			Name: "worker_rollback", Description: "Replace all tools by those of a snapshot. The present tools are kept as a snapshot too.",
			Input:       json.RawMessage(`{"type":"object","properties":{"snapshot":{"type":"string","description":"its id; the most recent one if left out"}}}`),
			Annotations: tools.Annotations{Destructive: true}, Timeout: changeTimeout, Handle: h.rollback,
		},
		{
			Name: "worker_snapshots", Description: "List the snapshots of the tools, the newest first.", Input: json.RawMessage(none),
			Annotations: tools.Annotations{ReadOnly: true, Idempotent: true}, Handle: h.listSnapshots,
		},
		{
			Name: "plan_read", Description: "Read a Markdown file.",
			Input:       json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"absolute path of a .md file"}},"required":["path"]}`),
			Annotations: tools.Annotations{ReadOnly: true, Idempotent: true}, Handle: readPlan,
		},
		{
			Name: "dynamic_tool_delete", Description: "Delete a tool.",
			Input:       json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
			Annotations: tools.Annotations{Destructive: true}, Timeout: changeTimeout, Handle: h.delete,
		},
		createTool(h.create),
	}
}

func (h *Host) restart(ctx context.Context, _ tools.Call) (tools.Result, error) {
	if err := h.replace(ctx, nil); err != nil {
		return tools.Result{}, err
	}
	h.noteRollback("")
	return tools.Result{Text: "Secondary server restarted successfully"}, nil
}

func (h *Host) snapshot(_ context.Context, c tools.Call) (tools.Result, error) {
	var args struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tools.Result{}, err
	}
	if err := checkSnapshotName(args.Name); err != nil {
		return tools.Result{}, err
	}
	h.changing.Lock()
	defer h.changing.Unlock()
	sn, err := h.snapshots.create(args.Name, len(h.tools()))
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: "Snapshot created: " + sn.ID}, nil
}

func (h *Host) rollback(ctx context.Context, c tools.Call) (tools.Result, error) {
	var args struct {
		Snapshot string `json:"snapshot"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tools.Result{}, err
	}
	h.changing.Lock()
	sn, err := h.snapshots.find(args.Snapshot)
	h.changing.Unlock()
	if err != nil {
		return tools.Result{}, err
	}
	err = h.replace(ctx, func() error {
		h.changing.Lock()
		defer h.changing.Unlock()
		return h.snapshots.restore(sn, len(h.tools()))
	})
	if err != nil {
		return tools.Result{}, err
	}
	h.setRestarts(0)
	h.noteRollback("")
	return tools.Result{Text: "Rolled back to snapshot: " + sn.ID}, nil
}

func (h *Host) listSnapshots(context.Context, tools.Call) (tools.Result, error) {
	h.changing.Lock()
	all, err := h.snapshots.list()
	h.changing.Unlock()
	if err != nil {
		return tools.Result{}, err
	}
	lines := make([]string, len(all))
	for i, sn := range all {
		lines[i] = fmt.Sprintf("%s (%d tools, %s)", sn.ID, sn.ToolCount, sn.CreatedAt.Format("2006-01-02T15:04:05.000Z"))
	}
	return tools.Result{Text: cmp.Or(strings.Join(lines, "\n"), "There are no snapshots.")}, nil
}

// readPlan returns a Markdown file. A symbolic link counts as what it leads to.
func readPlan(_ context.Context, c tools.Call) (tools.Result, error) {
	var args struct {
		Path string `json:"path"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tools.Result{}, err
	}
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
func (h *Host) delete(ctx context.Context, c tools.Call) (tools.Result, error) {
	var args struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: fmt.Sprintf("Tool '%s' deleted successfully", args.Name)}, h.deleteTool(ctx, args.Name)
}

func (h *Host) deleteTool(ctx context.Context, name string) error {
	if slices.Contains(protected, name) {
		return fmt.Errorf("name: %q is protected and cannot be deleted", name)
	}
	present, err := h.await(ctx)
	if err != nil {
		return err
	}
	t, ok := h.tools()[name]
	if !ok {
		if _, other := h.o.Registry.Find(name); other {
			return fmt.Errorf("name: %q is a tool of the gateway and cannot be deleted", name)
		}
		return fmt.Errorf("name: there is no tool %q; %s lists all", name, tools.SearchName)
	}
	if err := h.deleteFile(t); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return h.reload(ctx, present)
}

// deleteFile removes the file of a tool, or notes that a built-in tool is deleted.
func (h *Host) deleteFile(t api.Tool) error {
	h.changing.Lock()
	defer h.changing.Unlock()
	if t.File != "" {
		return os.Remove(filepath.Join(h.o.ToolsDir, filepath.Base(t.File)))
	}
	path := filepath.Join(h.o.ToolsDir, api.DeletedFile)
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
func (h *Host) reload(ctx context.Context, c *child) error {
	_, err := c.client.reload(ctx)
	if err == nil {
		err = h.refresh(ctx, c)
	}
	return err
}
