package botapi

import (
	"fmt"
	"slices"
)

// violateLocked records what a client did that Telegram tolerates, ignores or
// drops, and that is a mistake all the same. It fails the test.
func (s *Server) violateLocked(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.broken = append(s.broken, text)
	if s.t != nil && !s.opts.lenient {
		s.t.Errorf("botapi: %s", text)
	}
	s.changedLocked()
}

// Violations returns what clients did that Telegram accepts without doing what
// they meant: a dropped entity, an unknown parameter, a number that is none, a
// parse_mode. With [Lenient] the test is to look at it.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.broken)
}
