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
func (s *listing) busy() (busy []api.Busy) {
	s.mu.Lock()
	scripts := s.scripts
	s.mu.Unlock()
	for _, c := range scripts {
		if running, waiting := c.Calls(); waiting > 0 {
			busy = append(busy, api.Busy{Tool: c.Name, Running: running, Waiting: waiting})
		}
	}
	return busy
}
