package lanes

import (
	"container/list"
	"slices"
	"sync"
)

// A sessionPool bounds the live sessions, and orders unused sessions by last use. A lane
// acquires a slot before starting a session, and releases the slot when the session's end is
// known. With limit 0 lanes acquire no slots.
type sessionPool struct {
	limit int

	mu        sync.Mutex // guards the fields below
	taken     map[*slot]struct{}
	idle      *list.List // lanes with an unused session, least recently used first
	idleEntry map[*slot]*list.Element
	ending    map[*slot]struct{} // lanes requested to end a session, or ending a session
	waiting   []*slot
}

// sessionMemory is the expected memory of one session: claude takes some 200 MB, and tools
// the rest.
const sessionMemory = 400 << 20

// SessionsIn returns the number of sessions fitting into memory bytes, at least 1. For
// unknown memory (0) SessionsIn returns 0, meaning any number.
func SessionsIn(memory uint64) int {
	if memory == 0 {
		return 0
	}
	return int(max(1, memory/sessionMemory)) //nolint:gosec // far below the largest int
}

func newSessionPool(limit int) *sessionPool {
	return &sessionPool{
		limit: limit, taken: map[*slot]struct{}{}, idle: list.New(),
		idleEntry: map[*slot]*list.Element{}, ending: map[*slot]struct{}{},
	}
}

// acquire gives the lane a slot and returns true, or queues the lane and returns false. A
// queued lane later gets a call of slotAssigned.
func (s *sessionPool) acquire(l *slot) bool {
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

// has reports whether the lane has a slot.
func (s *sessionPool) has(l *slot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.taken[l]
	return ok
}

// adopt counts a live session of an earlier process, even beyond the limit.
func (s *sessionPool) adopt(l *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[l] = struct{}{}
}

// markIdle marks the lane's session as unused from now on.
func (s *sessionPool) markIdle(l *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistLocked(l)
	s.idleEntry[l] = s.idle.PushBack(l)
	s.assignLocked()
}

// markBusy marks the lane's session as used, even after a request to end the session.
func (s *sessionPool) markBusy(l *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistLocked(l)
	s.assignLocked()
}

// markEnding marks the lane's session as ending.
func (s *sessionPool) markEnding(l *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistLocked(l)
	if _, ok := s.taken[l]; ok {
		s.ending[l] = struct{}{}
	}
}

// release frees the lane's slot, or removes the lane from the waiting list.
func (s *sessionPool) release(l *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistLocked(l)
	delete(s.taken, l)
	s.waiting = slices.DeleteFunc(s.waiting, func(other *slot) bool { return other == l })
	s.assignLocked()
}

func (s *sessionPool) unlistLocked(l *slot) {
	if e := s.idleEntry[l]; e != nil {
		s.idle.Remove(e)
		delete(s.idleEntry, l)
	}
	delete(s.ending, l)
}

// assignLocked assigns free slots to waiting lanes in order, and evicts as many idle
// sessions as are needed for the remaining lanes. The caller holds s.mu.
func (s *sessionPool) assignLocked() {
	for len(s.waiting) > 0 && len(s.taken) < s.limit {
		l := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.taken[l] = struct{}{}
		l.post(l.assigned)
	}
	if len(s.waiting) == 0 {
		return
	}
	for wanting := len(s.taken) - s.limit + len(s.waiting) - len(s.ending); wanting > 0 && s.idle.Len() > 0; wanting-- {
		l := s.idle.Front().Value.(*slot) //nolint:forcetypeassert // only slots are put in
		s.unlistLocked(l)
		s.ending[l] = struct{}{}
		l.post(l.evict)
	}
}

// A slotState is the lane's state in the session pool.
type slotState int

// The states of a slot.
const (
	slotNone   slotState = iota // no slot
	slotQueued                  // waiting for a slot
	slotBusy                    // holds a slot
	slotIdle                    // holds a slot with an unused session, open to eviction
)

// A slot is a lane's place in the session pool. The methods run on the lane's goroutine.
type slot struct {
	pool  *sessionPool
	state slotState
	post  func(func()) bool
	evict func() // ends the unused session, or calls keep
}

// acquire reports whether a session may be started, and queues for a slot if necessary.
func (s *slot) acquire() bool {
	if s.pool.limit == 0 {
		return true
	}
	if s.state == slotNone {
		s.state = slotQueued
		if s.pool.acquire(s) {
			s.state = slotBusy
		}
	}
	return s.state != slotQueued
}

// assigned notes that the pool has assigned a slot.
func (s *slot) assigned() {
	if s.state != slotQueued || !s.pool.has(s) {
		return // the lane has released the slot meanwhile
	}
	s.state = slotBusy
}

// keep protects the session from eviction.
func (s *slot) keep() {
	s.pool.markBusy(s)
	s.state = slotBusy
}

// offer opens the session to eviction.
func (s *slot) offer() {
	s.pool.markIdle(s)
	s.state = slotIdle
}

// release gives the slot back, or the place among the waiting slots.
func (s *slot) release() {
	if s.state != slotNone {
		s.pool.release(s)
		s.state = slotNone
	}
}
