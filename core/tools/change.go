package tools

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"bareclaw/core"
)

// tell calls Options.Changed with each tool that has changed since before. The caller holds the lock.
func (r *Registry) tell(before map[string]Tool) {
	if r.onChange == nil {
		return
	}
	for _, u := range changes(before, r.catalog.tools, r.version) {
		r.onChange(u)
	}
}

// changes returns an update for each tool that has appeared, changed or gone, sorted by name. version is that
// of the registry with the tools after the change.
func changes(before, after map[string]Tool, version int64) []core.Update {
	kinds := map[string]core.UpdateKind{}
	for name := range after {
		now := after[name]
		was, known := before[name]
		switch {
		case !known:
			kinds[name] = core.UpdateToolRegistered
		case !now.isLike(&was):
			kinds[name] = core.UpdateToolReloaded
		}
	}
	for name := range before {
		if _, stays := after[name]; !stays {
			kinds[name] = core.UpdateToolRemoved
		}
	}
	var all []core.Update
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		t, ok := after[name]
		if !ok {
			t = before[name]
		}
		all = append(all, core.Update{
			Kind: kinds[name],
			At:   time.Now(),
			Tool: &core.ToolChange{
				Tool:    name,
				Source:  t.Source,
				Mount:   t.Mount,
				Version: version,
			},
		})
	}
	return all
}

// isLike reports whether two tools of one name are the same to whoever calls them.
func (t *Tool) isLike(other *Tool) bool {
	return t.Description == other.Description &&
		t.Source == other.Source &&
		t.Mount == other.Mount &&
		t.Revision == other.Revision &&
		t.Annotations == other.Annotations &&
		t.Category == other.Category &&
		t.RequiresWorker == other.RequiresWorker &&
		t.Retries == other.Retries &&
		t.Pinned == other.Pinned &&
		bytes.Equal(t.Input, other.Input) &&
		bytes.Equal(t.Output, other.Output)
}
