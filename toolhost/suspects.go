package toolhost

import (
	"sync"

	"bareclaw/toolhost/api"
)

// maxBlamed is how often a tool host may end while it loads or runs a file before the file is left
// out. The first time something else may have been the cause.
const maxBlamed = 2

// A cause says why a tool host has ended.
type cause int

const (
	wasTold      cause = iota // to end, or it is to be replaced
	isUnknown                 // a crash that nothing explains: too many of them roll the tools back
	isKnownCrash              // a crash that calls, a file or a missing answer explain: the other tools are not at fault
	isStuck                   // a tool could not be interrupted: no crash of the tool host
)

// isCrash reports whether the tool host has crashed.
func (c cause) isCrash() bool { return c == isUnknown || c == isKnownCrash }

// suspects count the ends of tool hosts that files are blamed for.
type suspects map[api.File]suspect

// A suspect is what is held against a file.
type suspect struct {
	ends int
	why  string // of the last one, as a clause
}

// blame counts an end. It reports whether the file is left out from now on.
func (s suspects) blame(f api.File, why cause) bool {
	says := "the tool host has ended twice while it loaded or ran this file"
	if why == isStuck {
		says = "its code could twice not be interrupted after its time limit, and the tool host had to be restarted"
	}
	s[f] = suspect{s[f].ends + 1, says}
	return s[f].ends == maxBlamed
}

// skipped returns the files to leave out, as long as their contents stay the same.
func (s suspects) skipped() (files []api.Skipped) {
	for f, held := range s {
		if held.ends >= maxBlamed {
			files = append(files, api.Skipped{File: f, Why: held.why})
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
