package lanes

import (
	"container/list"
	"slices"
	"sync"
)

// seats is the one owner of how many sessions are alive, and of which of them has
// not been used for the longest time. A lane takes a seat before it starts a
// session and gives it back when the session's end is known. With limit 0 there
// is always one.
type sessionPool struct {
	limit int

	mu        sync.Mutex // guards the fields below
	taken     map[*lane]struct{}
	idle      *list.List // of lanes with an unused session, least recently used first
	idleEntry map[*lane]*list.Element
	ending    map[*lane]struct{} // asked to end their session, or ending it
	waiting   []*lane
}

// sessionMemory is what one session may be expected to take: claude takes some
// 200 MB, and its tools the rest.
const sessionMemory = 400 << 20

// SessionsIn is how many sessions a machine with so many bytes of memory has room
// for, at least one; 0 bytes, an unknown memory, is room for any number: 0.
func SessionsIn(memory uint64) int {
	if memory == 0 {
		return 0
	}
	return int(max(1, memory/sessionMemory)) //nolint:gosec // far below the largest int
}

func newSessionPool(limit int) *sessionPool {
	return &sessionPool{
		limit: limit, taken: map[*lane]struct{}{}, idle: list.New(),
		idleEntry: map[*lane]*list.Element{}, ending: map[*lane]struct{}{},
	}
}

// take gives the lane a seat and reports true, or has it wait for one: it is
// told by seated.
func (s *sessionPool) acquire(l *lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taken) < s.limit && len(s.waiting) == 0 {
		s.taken[l] = struct{}{}
		return true
	}
	s.waiting = append(s.waiting, l)
	s.assignLocked()
	return false
}

// has reports whether the lane has a seat.
func (s *sessionPool) has(l *lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.taken[l]
	return ok
}

// adopt counts a session that an earlier process left, however many there are.
func (s *sessionPool) adopt(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[l] = struct{}{}
}

// rests notes that the lane's session is unused from now on.
func (s *sessionPool) markIdle(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistLocked(l)
	s.idleEntry[l] = s.idle.PushBack(l)
	s.assignLocked()
}

// works notes that the lane's session is in use, also if it was asked to end it.
func (s *sessionPool) markBusy(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistLocked(l)
	s.assignLocked()
}

// leaves notes that the lane's session is about to end.
func (s *sessionPool) markEnding(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistLocked(l)
	if _, ok := s.taken[l]; ok {
		s.ending[l] = struct{}{}
	}
}

// release takes back the lane's seat, or its wish for one.
func (s *sessionPool) release(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistLocked(l)
	delete(s.taken, l)
	s.waiting = slices.DeleteFunc(s.waiting, func(other *lane) bool { return other == l })
	s.assignLocked()
}

func (s *sessionPool) unlistLocked(l *lane) {
	if e := s.idleEntry[l]; e != nil {
		s.idle.Remove(e)
		delete(s.idleEntry, l)
	}
	delete(s.ending, l)
}

// shareLocked gives free seats to those who wait, in order, and asks as many idle
// lanes for theirs as are still wanting.
func (s *sessionPool) assignLocked() {
	for len(s.waiting) > 0 && len(s.taken) < s.limit {
		l := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.taken[l] = struct{}{}
		l.post(l.slotAssigned)
	}
	if len(s.waiting) == 0 {
		return
	}
	for wanting := len(s.taken) - s.limit + len(s.waiting) - len(s.ending); wanting > 0 && s.idle.Len() > 0; wanting-- {
		l := s.idle.Front().Value.(*lane) //nolint:forcetypeassert // only lanes are put in
		s.unlistLocked(l)
		s.ending[l] = struct{}{}
		l.post(l.evict)
	}
}
