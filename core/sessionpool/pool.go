// Package sessionpool bounds the number of live sessions. A channel in need of a session
// evicts the least recently used session without work, or waits.
package sessionpool

import (
	"container/list"
	"slices"
	"sync"
)

// sessionMemory is the expected memory of one session: claude takes some 200 MB, and tools
// the rest.
const sessionMemory = 400 << 20

// LimitFor returns the number of sessions fitting into memory bytes, at least 1. For unknown
// memory (0) LimitFor returns 0, meaning any number.
func LimitFor(memory uint64) int {
	if memory == 0 {
		return 0
	}
	return int(max(1, memory/sessionMemory)) //nolint:gosec // far below the largest int
}

// A Pool bounds the live sessions, and orders unused sessions by last use.
type Pool struct {
	limit int

	mu      sync.Mutex // guards the fields below, and the state of all slots
	taken   int        // slots that hold a session
	ending  int        // the part of taken with a session requested to end, or ending
	idle    list.List  // slots with an unused session, least recently used first
	waiting []*Slot
}

// New returns a pool for limit sessions; with limit 0, slots are always free.
func New(limit int) *Pool { return &Pool{limit: limit} }

// Limit returns the greatest number of live sessions; 0 means any number.
func (p *Pool) Limit() int { return p.limit }

type state int

const (
	free     state = iota
	waiting        // for a session to end
	busy           // holds a session
	idle           // holds an unused session, open to eviction
	evicting       // holds a session requested to end
	ending         // holds a session that is ending
)

// A Slot is the place of a channel in a pool: acquired before a session is started, and
// released when the session's end is known. All methods are safe for concurrent use.
type Slot struct {
	pool  *Pool
	post  func(func()) bool
	evict func()

	state state         // guarded by pool.mu
	entry *list.Element // in pool.idle
}

// Slot returns a free slot. The pool passes evict to post when another slot needs the unused
// session's place: evict ends the session and calls MarkEnding, or calls SetIdle(false). The
// pool passes a function without effect to post when a waiting slot has been acquired.
func (p *Pool) Slot(post func(func()) bool, evict func()) *Slot {
	return &Slot{pool: p, post: post, evict: evict}
}

// Acquire reports whether a session may be started. Otherwise the slot waits, and the pool
// acquires the slot in order of the first call.
func (s *Slot) Acquire() bool {
	if s.pool.limit == 0 {
		return true
	}
	s.change(waiting, free)
	return !s.Waiting()
}

// Adopt counts a live session of an earlier process, even beyond the limit.
func (s *Slot) Adopt() {
	if s.pool.limit > 0 {
		s.change(busy, free)
	}
}

// SetIdle sets whether the session is unused from now on, and may be evicted.
func (s *Slot) SetIdle(unused bool) {
	if unused {
		s.change(idle, busy)
	} else {
		s.change(busy, idle, evicting)
	}
}

// MarkEnding marks the session as ending.
func (s *Slot) MarkEnding() { s.change(ending, busy, idle, evicting) }

// Release frees the slot, or ends the waiting.
func (s *Slot) Release() { s.change(free, waiting, busy, idle, evicting, ending) }

// Waiting reports whether the slot waits for a session to end.
func (s *Slot) Waiting() bool { return s.is(waiting) }

// Evicting reports whether the pool has requested the end of the session.
func (s *Slot) Evicting() bool { return s.is(evicting) }

// Free reports whether the slot neither waits nor holds a session.
func (s *Slot) Free() bool { return s.is(free) }

func (s *Slot) is(st state) bool {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.state == st
}

// change changes the slot's state if the present state is among from.
func (s *Slot) change(to state, from ...state) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if slices.Contains(from, s.state) {
		s.setLocked(to)
		s.pool.assignLocked()
	}
}

func (s *Slot) setLocked(to state) {
	s.countLocked(-1)
	switch s.state {
	case waiting:
		s.pool.waiting = slices.DeleteFunc(s.pool.waiting, func(other *Slot) bool { return other == s })
	case idle:
		s.pool.idle.Remove(s.entry)
	default:
	}
	s.state = to
	s.countLocked(1)
	switch to {
	case waiting:
		s.pool.waiting = append(s.pool.waiting, s)
	case idle:
		s.entry = s.pool.idle.PushBack(s)
	default:
	}
}

// countLocked adds n to the counts of the slot's state.
func (s *Slot) countLocked(n int) {
	if s.state >= busy {
		s.pool.taken += n
	}
	if s.state >= evicting {
		s.pool.ending += n
	}
}

// assignLocked gives free places to waiting slots in order, and evicts as many unused
// sessions as are needed for the remaining slots.
func (p *Pool) assignLocked() {
	for len(p.waiting) > 0 && p.taken < p.limit {
		s := p.waiting[0]
		s.setLocked(busy)
		s.post(func() {})
	}
	if len(p.waiting) == 0 {
		return
	}
	for wanting := p.taken - p.limit + len(p.waiting) - p.ending; wanting > 0 && p.idle.Len() > 0; wanting-- {
		s := p.idle.Front().Value.(*Slot) //nolint:forcetypeassert // only slots are put in
		s.setLocked(evicting)
		s.post(s.evict)
	}
}
