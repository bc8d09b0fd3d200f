package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bareclaw/internal/lockfile"
)

// coming is how many processes may be started on the whole machine before the one
// whose number is guessed.
const coming = 4000

// Ahead calls leave with the path that each of the next processes would listen on
// for its predecessor.
func (m *Machine) Ahead(leave func(path string) error) {
	m.T.Helper()
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		m.T.Fatal(err)
	}
	fields := strings.Fields(string(b))
	last, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		m.T.Fatal(err)
	}
	for pid := last + 1; pid < last+coming; pid++ {
		if err := leave(m.Path(fmt.Sprintf("run/handover-%d.sock", pid))); err != nil {
			m.T.Fatal(err)
		}
	}
}

// FailsToTakeOver has a process fail when it is too late to go back, and returns when
// the daemon has started anew. Should more processes be started on the machine than were
// thought of, the next one takes over, and the one after that is to fail.
func (g *Gateway) FailsToTakeOver() {
	g.T.Helper()
	for anew := false; !anew; {
		g.Ahead(func(path string) error { return os.MkdirAll(filepath.Join(path, "in the way"), 0o700) })
		before, generation := g.LockFile(), g.Generation()
		g.Must("POST", "/restart", nil, 200)
		g.Eventually("another one serves, or the daemon has started anew", func() bool {
			h, err := lockfile.ReadHolder(g.Path("state/" + lockfile.StateLockName))
			if err != nil || h.Address == "" {
				return false
			}
			g.Base = "http://" + h.Address // no port is configured, so it has another one
			a, err := g.Do("GET", "/health", nil)
			anew = err == nil && a.Number("generation") > generation+1 // the one that failed had a number too
			return err == nil && a.Flag("ready") && (anew || h.PID != before.PID)
		})
	}
}
