package lanes

import "fmt"

// A slotState is the lane's state in the session pool.
type slotState int

const (
	slotNone   slotState = iota // no slot
	slotQueued                  // waiting for a slot
	slotBusy                    // holds a slot
	slotIdle                    // holds a slot with an unused session, open to eviction
)

// acquireSlot reports whether a session may be started, and queues for a slot if necessary.
func (l *lane) acquireSlot() bool {
	if l.manager.pool.limit == 0 {
		return true
	}
	if l.slot == slotNone {
		l.slot = slotQueued
		if l.manager.pool.acquire(l) {
			l.slot = slotBusy
		}
	}
	return l.slot != slotQueued
}

// slotAssigned starts work once the pool has assigned a slot.
func (l *lane) slotAssigned() {
	if l.slot != slotQueued || !l.manager.pool.has(l) {
		return // the lane has released the slot meanwhile
	}
	l.slot = slotBusy
	if l.busy == "" {
		l.handAll()
		l.dispatch()
	}
}

// evict ends an unused session to free the slot for another channel.
func (l *lane) evict() {
	switch {
	case l.ending || l.slot == slotNone || l.slot == slotQueued: // the session is ending, or gone
	case l.unused() && !l.session.background.reporting:
		l.manager.stats.evicted.Add(1)
		l.endIdle("another channel needs a session")
	default:
		l.manager.pool.markBusy(l)
		l.slot = slotBusy
	}
}

// updateSlot reports changes of the lane to the session pool.
func (l *lane) updateSlot() {
	if l.slot == slotNone || l.ending {
		return
	}
	switch {
	case l.session == nil && !l.opening && l.busy == "" && len(l.inflight) == 0:
		if l.slot != slotQueued || len(l.pending) == 0 || l.parked != nil {
			l.releaseSlot()
		}
	case l.slot == slotQueued:
	case l.unused() && !l.session.background.reporting:
		if l.slot != slotIdle {
			l.manager.pool.markIdle(l)
			l.slot = slotIdle
		}
	case l.slot == slotIdle:
		l.manager.pool.markBusy(l)
		l.slot = slotBusy
	}
}

func (l *lane) releaseSlot() {
	if l.slot != slotNone {
		l.manager.pool.release(l)
		l.slot = slotNone
	}
}

// slotWait returns a sentence about waiting for a slot; empty when not waiting.
func (l *lane) slotWait() string {
	if l.slot != slotQueued {
		return ""
	}
	return fmt.Sprintf("All %d sessions%s are busy; messages wait until one is free.", l.manager.pool.limit, parenthesized(l.manager.o.Advice.MaxSessions))
}
