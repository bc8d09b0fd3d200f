// Package sessionpool bounds the number of live sessions. A channel in need of a session
// evicts the least recently used session without work, or waits.
package sessionpool

import (
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
	return int(max(1, memory/sessionMemory))
}

// A Pool bounds the live sessions, and orders unused sessions by last use.
type Pool struct {
	limit int

	mu    sync.Mutex          // guards the field below, and the state of all slots
	slots [ending + 1][]*Slot // by state, in the order of their changes to the state; without free slots
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

	state state // guarded by pool.mu
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
	slots := &s.pool.slots
	slots[s.state] = slices.DeleteFunc(slots[s.state], func(other *Slot) bool { return other == s })
	if s.state = to; to != free {
		slots[to] = append(slots[to], s)
	}
}

// assignLocked gives free places to waiting slots in order, and evicts as many unused
// sessions as are needed for the remaining slots.
func (p *Pool) assignLocked() {
	places := p.limit
	for _, taken := range p.slots[busy:] {
		places -= len(taken)
	}
	for ; len(p.slots[waiting]) > 0 && places > 0; places-- {
		s := p.slots[waiting][0]
		s.setLocked(busy)
		s.post(func() {})
	}
	wanting := len(p.slots[waiting]) - places - len(p.slots[evicting]) - len(p.slots[ending])
	for ; len(p.slots[waiting]) > 0 && wanting > 0 && len(p.slots[idle]) > 0; wanting-- {
		s := p.slots[idle][0]
		s.setLocked(evicting)
		s.post(s.evict)
	}
}
