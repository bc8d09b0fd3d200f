package toolhost

import (
	"slices"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestReachOfTools: what changes the tools of all channels says so, and nothing else does.
func TestReachOfTools(t *testing.T) {
	t.Parallel()
	var all []string
	for _, tool := range prepare(t).manager(nil).tools() {
		if tool.Reach == nil {
			all = append(all, tool.Name)
			continue
		}
		if channel, err := tool.Reach(t.Context(), tools.Call{Caller: tools.Caller{Channel: "c"}}); err != nil || channel != "c" {
			t.Errorf("%s reaches channel %q, %v", tool.Name, channel, err)
		}
	}
	slices.Sort(all)
	if want := []string{"dynamic_tool_create", "dynamic_tool_delete", "worker_restart", "worker_rollback", "worker_snapshot"}; !slices.Equal(all, want) {
		t.Errorf("%q reach all channels, want %q", all, want)
	}
	o := offer{}
	for _, d := range []api.Tool{{Tool: tools.Tool{Name: "built_in"}}, {Tool: tools.Tool{Name: "file"}, File: "file.ts"}} {
		tool := o.toolOf(d)
		channel, err := tool.Reach(t.Context(), tools.Call{Caller: tools.Caller{Channel: "c"}})
		check.OK(t, err)
		if channel != "c" {
			t.Errorf("%s reaches channel %q", d.Name, channel)
		}
	}
}
