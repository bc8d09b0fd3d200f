package toolhost

import (
	"sync"

	"bareclaw/toolhost/api"
)

// maxBlamed is how often a tool host may end while it loads or runs a file before the file is left
// out. The first time something else may have been the cause.
const maxBlamed = 2

// suspects count the ends of tool hosts that files are blamed for.
type suspects map[api.File]int

// blame counts an end. It reports whether the file is left out from now on.
func (s suspects) blame(f api.File) bool {
	s[f]++
	return s[f] == maxBlamed
}

// skipped returns the files to leave out, as long as their contents stay the same.
func (s suspects) skipped() (files []api.File) {
	for f, n := range s {
		if n >= maxBlamed {
			files = append(files, f)
		}
	}
	return files
}

// underWay are the calls that a tool host carries out, by the file of the tool; built-in tools have
// none. All methods are safe for concurrent use.
type underWay struct {
	mu    sync.Mutex // guards calls
	calls map[api.File]int
}

func (u *underWay) begin(f api.File) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls == nil {
		u.calls = map[api.File]int{}
	}
	u.calls[f]++
}

func (u *underWay) end(f api.File) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls[f]--; u.calls[f] == 0 {
		delete(u.calls, f)
	}
}

// culprit returns the file whose tool is the only one running, zero if that has no file or others run
// too, and whether anything is running.
func (u *underWay) culprit() (f api.File, busy bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.calls) == 1 {
		for f = range u.calls {
		}
	}
	return f, len(u.calls) > 0
}
