package runner

import (
	"slices"
	"strings"

	"bareclaw/toolhost/api"
	"bareclaw/toolhost/script"
)

// scriptsOf returns the scripts of the tools that the files define, sorted by the name of the tool.
func (l *loader) scriptsOf(files map[string]api.File) []*script.Script {
	var all []*script.Script
	for _, f := range files {
		all = append(all, l.files[f.Name].script)
	}
	slices.SortFunc(all, func(a, b *script.Script) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// busy returns the tools of which calls wait for a machine.
func (l *loader) busy() (busy []api.Busy) {
	l.mu.Lock()
	scripts := l.scripts
	l.mu.Unlock()
	for _, s := range scripts {
		if running, waiting := s.Calls(); waiting > 0 {
			busy = append(busy, api.Busy{Tool: s.Name, Running: running, Waiting: waiting})
		}
	}
	return busy
}
