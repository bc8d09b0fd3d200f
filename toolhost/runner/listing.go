package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"bareclaw/toolhost/api"
	"bareclaw/toolhost/script"
)

// An offering is what a load offers.
type offering struct {
	tools   []api.Tool       // sorted by name
	scripts []*script.Script // of tools, sorted by name
}

// A listing is what the daemon sees of the tools. All methods are safe for concurrent use.
type listing struct {
	mu sync.Mutex // guards the fields below
	offering
	version  string        // of tools and partial; empty before the first load
	changed  chan struct{} // closed when there is another version
	partial  bool          // files are left to be loaded
	problems []api.Problem // sorted by file
}

func newListing() *listing { return &listing{changed: make(chan struct{})} }

// publish replaces what the daemon sees, and wakes those who wait for another list; nil: the tools are as
// before.
func (s *listing) publish(o *offering, problems []api.Problem, partial bool, log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems, s.partial = problems, partial
	if o == nil {
		return
	}
	b, err := json.Marshal(o.tools)
	if err != nil {
		log.Error("list of tools not encoded", "err", err) // impossible: the schemas were checked
	}
	sum := sha256.Sum256(fmt.Appendf(b, "%t", partial))
	version := `"` + hex.EncodeToString(sum[:8]) + `"`
	s.offering = *o
	if version != s.version {
		s.version = version
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// isReady reports whether there is a list.
func (s *listing) isReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version != ""
}

// list returns the tools, sorted by name, the version of the list, and whether files are left to be loaded.
// It waits for the first load.
func (s *listing) list(ctx context.Context) (list []api.Tool, version string, partial bool) {
	s.awaitOther(ctx, "")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, s.version, s.partial
}

// awaitOther waits until there is another version, and reports whether there is one.
func (s *listing) awaitOther(ctx context.Context, version string) bool {
	return s.await(ctx, func() bool { return s.version != version })
}

// awaitWhole waits until no file is left to be loaded, and reports whether that is so.
func (s *listing) awaitWhole(ctx context.Context) bool {
	return s.await(ctx, func() bool { return s.version != "" && !s.partial })
}

// await waits until a condition holds, which is asked with the lock held, and reports whether it does.
func (s *listing) await(ctx context.Context, holds func() bool) bool {
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// state returns the problems of files, and whether files are left to be loaded.
func (s *listing) state() (problems []api.Problem, partial bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems, s.partial
}

const (
	// maxReasons is the number of files whose problems are told in one text.
	maxReasons = 5
	// maxNamed is the number of further files that are named there.
	maxNamed = 100
)

// summary returns the problems in one text, with the names of all files; empty if there are none.
func summary(problems []api.Problem) string {
	var reasons, names []string
	for _, p := range problems {
		if len(reasons) < maxReasons {
			reasons = append(reasons, p.Text)
		} else {
			names = append(names, p.File)
		}
	}
	text := strings.Join(reasons, "; ")
	if len(names) == 0 {
		return text
	}
	rest := ""
	if left := len(names) - maxNamed; left > 0 {
		names, rest = names[:maxNamed], fmt.Sprintf(" and %d more", left)
	}
	return fmt.Sprintf("%s; also not loaded: %s%s", text, strings.Join(names, ", "), rest)
}
