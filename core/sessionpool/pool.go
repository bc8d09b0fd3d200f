// Package sessionpool bounds the number of live sessions. A channel in need of a session
// evicts a session without work, or waits. Sessions of people come before those of workers.
package sessionpool

import (
	"slices"
	"sync"
	"time"
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

// unlimitedWorkers is how many workers there may be where any number of sessions may be alive.
const unlimitedWorkers = 4

// WorkersFor returns how many of limit sessions may be those of workers: half of them, at least 1, and 4 if any number
// of sessions may be alive.
func WorkersFor(limit int) int {
	if limit == 0 {
		return unlimitedWorkers
	}
	return max(1, limit/2)
}

// personGrace is how long after its last use a person's session is not ended for a worker.
const personGrace = time.Minute

// A Class says whose sessions are meant.
type Class int

// The classes. Sessions of people come first.
const (
	People Class = iota
	Workers
)

const classes = Workers + 1

// Limits bound the live sessions of a pool.
type Limits struct {
	Sessions int // of both classes; 0: any number
	Workers  int // of workers; 0: as WorkersFor says
}

// A Pool bounds the live sessions, and orders unused sessions by last use.
type Pool struct {
	limits Limits

	mu    sync.Mutex                   // guards the fields below, and the state of all slots
	slots [classes][ending + 1][]*Slot // by class and state, in the order of their changes to the state; without free slots
	later *time.Timer                  // assigns again once a person's session may be ended for a worker; nil: is not needed
}

// New returns a pool.
func New(l Limits) *Pool {
	if l.Workers == 0 {
		l.Workers = WorkersFor(l.Sessions)
	}
	return &Pool{limits: l}
}

// Limits returns the bounds of the pool.
func (p *Pool) Limits() Limits { return p.limits }

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
	class Class
	post  func(func()) bool
	evict func()

	state     state     // guarded by pool.mu
	idleSince time.Time // guarded by pool.mu
}

// Slot returns a free slot. The pool passes evict to post when another slot needs the unused
// session's place: evict ends the session and calls MarkEnding, or calls SetIdle(false). The
// pool passes a function without effect to post when a waiting slot has been acquired.
func (p *Pool) Slot(class Class, post func(func()) bool, evict func()) *Slot {
	return &Slot{pool: p, class: class, post: post, evict: evict}
}

// isUnbounded reports whether slots of the class are always free.
func (p *Pool) isUnbounded(class Class) bool { return class == People && p.limits.Sessions == 0 }

// Acquire reports whether a session may be started. Otherwise the slot waits, and the pool
// acquires the slots of a class in the order of the first call.
func (s *Slot) Acquire() bool {
	if s.pool.isUnbounded(s.class) {
		return true
	}
	s.change(waiting, free)
	return !s.Waiting()
}

// Adopt counts a live session of an earlier process, even beyond the limit.
func (s *Slot) Adopt() {
	if !s.pool.isUnbounded(s.class) {
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
		s.pool.assignLocked(time.Now())
	}
}

func (s *Slot) setLocked(to state) {
	slots := &s.pool.slots[s.class]
	slots[s.state] = slices.DeleteFunc(slots[s.state], func(other *Slot) bool { return other == s })
	s.state = to
	if to != free {
		slots[to] = append(slots[to], s)
	}
	if to == idle {
		s.idleSince = time.Now()
	}
}

// assignLocked gives free places to waiting slots in order, those of people first, and evicts as many
// unused sessions as the slots need that still wait.
func (p *Pool) assignLocked(now time.Time) {
	for len(p.slots[People][waiting]) > 0 && p.placesLocked() > 0 {
		p.giveLocked(People)
	}
	for len(p.slots[Workers][waiting]) > 0 && p.placesLocked() > 0 && p.seatsLocked() > 0 {
		p.giveLocked(Workers)
	}
	room := p.placesLocked() + p.leavingLocked(People) + p.leavingLocked(Workers)
	room = p.evictForPeopleLocked(room)
	p.evictForWorkersLocked(room, now)
}

// evictForPeopleLocked evicts sessions until there is room for all slots of people that wait, those of workers first.
// It returns the room that is left.
func (p *Pool) evictForPeopleLocked(room int) (left int) {
	for room < len(p.slots[People][waiting]) {
		if !p.evictLocked(Workers) && !p.evictLocked(People) {
			break
		}
		room++
	}
	return room - len(p.slots[People][waiting])
}

// evictForWorkersLocked evicts sessions until there are room and seats for all slots of workers that wait: those of
// other workers first, then those that no person has used for a while.
func (p *Pool) evictForWorkersLocked(room int, now time.Time) {
	seats := p.seatsLocked() + p.leavingLocked(Workers)
	for served := 0; served < len(p.slots[Workers][waiting]); {
		switch {
		case served < room && served < seats:
			served++
		case p.evictLocked(Workers):
			room++
			seats++
		case served >= seats || len(p.slots[People][idle]) == 0:
			return
		default:
			unused := now.Sub(p.slots[People][idle][0].idleSince)
			if unused < personGrace {
				p.assignIn(personGrace - unused)
				return
			}
			p.evictLocked(People)
			room++
		}
	}
}

// assignIn assigns once more after a while.
func (p *Pool) assignIn(d time.Duration) {
	if p.later != nil {
		p.later.Stop()
	}
	p.later = time.AfterFunc(d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.assignLocked(time.Now())
	})
}

// anyNumber is more places than there can be sessions.
const anyNumber = 1 << 20

// placesLocked returns how many more sessions may be alive. It is negative after Adopt.
func (p *Pool) placesLocked() int {
	if p.limits.Sessions == 0 {
		return anyNumber
	}
	return p.limits.Sessions - p.takenLocked(People) - p.takenLocked(Workers)
}

// seatsLocked is placesLocked for sessions of workers, among those that there are.
func (p *Pool) seatsLocked() int { return p.limits.Workers - p.takenLocked(Workers) }

// takenLocked returns how many slots of a class hold a session.
func (p *Pool) takenLocked(class Class) int {
	n := 0
	for _, taken := range p.slots[class][busy:] {
		n += len(taken)
	}
	return n
}

// leavingLocked returns how many sessions of a class are to end, or ending.
func (p *Pool) leavingLocked(class Class) int {
	return len(p.slots[class][evicting]) + len(p.slots[class][ending])
}

// giveLocked gives a place to the first waiting slot of a class.
func (p *Pool) giveLocked(class Class) {
	s := p.slots[class][waiting][0]
	s.setLocked(busy)
	s.post(func() {})
}

// evictLocked requests the end of the class's least recently used session, and reports whether there was one.
func (p *Pool) evictLocked(class Class) bool {
	if len(p.slots[class][idle]) == 0 {
		return false
	}
	s := p.slots[class][idle][0]
	s.setLocked(evicting)
	s.post(s.evict)
	return true
}
