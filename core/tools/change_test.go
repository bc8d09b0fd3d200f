package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// TestChangesAreTold replaces the tools of lists: whatever a caller may notice is told once, with the registry's
// version.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	var told []string
	l := newLists(t, Options{Changed: func(u core.Update) {
		c := u.Tool
		told = append(told, fmt.Sprint(u.Kind, " ", c.Tool, " ", c.Source, c.Mount, " ", c.Version))
	}}, echo("a"), echo("b"))
	changed := func(change func(*Tool)) []Tool {
		tool := echo("a")
		change(&tool)
		return []Tool{tool}
	}
	shouts := changed(func(t *Tool) { t.Description = "Shout" })
	titled := changed(func(t *Tool) { t.Input = json.RawMessage(`{"type":"object","title":"A"}`) })
	structured := changed(func(t *Tool) { t.Output = anyObject })
	reads := changed(func(t *Tool) { t.Annotations.ReadOnly = true })
	revised := changed(func(t *Tool) { t.Revision = "2" })
	filed := changed(func(t *Tool) { t.Category = GitHub })
	pinned := changed(func(t *Tool) { t.Pinned = true })
	retried := changed(func(t *Tool) { t.Retries = 2 })
	worked := changed(func(t *Tool) { t.RequiresWorker = true })
	mounted := changed(func(t *Tool) { t.Mount = "db" })
	for i, step := range []struct {
		name string
		list *List
		all  []Tool
		want []string
	}{
		{"the same", l.dynamic, []Tool{echo("b"), echo("a")}, nil},
		{"another description", l.dynamic, shouts, []string{"tool:hot-reloaded a dynamic", "tool:removed b dynamic"}},
		{"another schema", l.dynamic, titled, []string{"tool:hot-reloaded a dynamic"}},
		{"a result's schema", l.dynamic, structured, []string{"tool:hot-reloaded a dynamic"}},
		{"other hints", l.dynamic, reads, []string{"tool:hot-reloaded a dynamic"}},
		{"other code", l.dynamic, revised, []string{"tool:hot-reloaded a dynamic"}},
		{"another category", l.dynamic, filed, []string{"tool:hot-reloaded a dynamic"}},
		{"loaded always", l.dynamic, pinned, []string{"tool:hot-reloaded a dynamic"}},
		{"with retries", l.dynamic, retried, []string{"tool:hot-reloaded a dynamic"}},
		{"for workers", l.dynamic, worked, []string{"tool:hot-reloaded a dynamic"}},
		{"of a server", l.dynamic, mounted, []string{"tool:hot-reloaded a dynamicdb"}},
		{"of an earlier source", l.builtin, []Tool{echo("a"), echo("c")}, []string{"tool:hot-reloaded a builtin", "tool:registered c builtin"}},
		{"of the later source again", l.builtin, nil, []string{"tool:hot-reloaded a dynamicdb", "tool:removed c builtin"}},
	} {
		told = nil
		check.OK(t, step.list.Replace(step.all))
		var want []string
		for _, change := range step.want {
			want = append(want, fmt.Sprint(change, " ", i+2))
		}
		if !reflect.DeepEqual(told, want) {
			t.Errorf("%s: told %q, want %q", step.name, told, want)
		}
		if got := l.Version(); got != int64(i+2) {
			t.Errorf("%s: the version is %d", step.name, got)
		}
	}
}
