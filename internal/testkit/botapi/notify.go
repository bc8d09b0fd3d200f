package botapi

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what should come at once. A busy
// machine needs some of it.
const Patience = time.Minute

// changedLocked wakes everybody who waits for a change.
func (s *Server) changedLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Await returns once cond is true. It looks again at every change of the
// server: a call begun or answered, a message, a poll. After [Patience] the
// test ends with what was awaited and everything the users see.
func (s *Server) Await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !s.wait(cond, Patience) {
		t.Fatalf("no %s within %v. The Bot API server:\n%s", what, Patience, s.Dump())
	}
}

// wait reports whether cond became true within d.
func (s *Server) wait(cond func() bool, d time.Duration) bool {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if cond() {
			return true
		}
		select {
		case <-changed:
		case <-timeout.C:
			return cond()
		}
	}
}
