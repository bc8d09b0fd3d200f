package harness

import (
	"encoding/json"
	"strings"
	"time"

	"bareclaw/internal/lockfile"
)

// Generation returns the running daemon's.
func (g *Gateway) Generation() float64 {
	g.T.Helper()
	return g.Must("GET", "/health", nil, 200).Number("generation")
}

// Closed reports whether a channel is closed.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// LeavePromise is how long an idle daemon may take to end.
const LeavePromise = 2 * time.Second

// LockFile returns what the state directory's lock says of its holder.
func (m *Machine) LockFile() (h lockfile.Holder) {
	m.T.Helper()
	m.Eventually("the lock file can be read", func() bool { // it may be being written
		var err error
		h, err = lockfile.ReadHolder(m.Path("state/" + lockfile.StateLockName))
		return err == nil
	})
	return h
}

// Restarted waits until a hand-over is over.
func (g *Gateway) Restarted(generation float64) {
	g.T.Helper()
	g.Eventually("the restart is over", func() bool {
		a, err := g.Do("GET", "/health", nil)
		return err == nil && a.Flag("ready") && a.Number("generation") > generation
	})
}

// Restart restarts the gateway by a request, and waits until that is over.
func (g *Gateway) Restart() {
	g.T.Helper()
	generation := g.Generation()
	g.Must("POST", "/restart", nil, 200)
	g.Restarted(generation)
}

// Ended returns how long the last daemon took to end, as its log says; ended is false if the
// log does not say that.
func (m *Machine) Ended() (took time.Duration, ended bool) {
	for line := range strings.Lines(m.Log.String()) {
		var l struct {
			Msg  string
			Took time.Duration
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "ended" {
			took, ended = l.Took, true
		}
	}
	return took, ended
}

// Set adds settings, which win over earlier ones.
func (m *Machine) Set(settings ...string) { m.Env = append(m.Env, settings...) }
