package lanes

import "fmt"

// A seating is what a lane has told the seats of itself.
type slotState int

const (
	slotNone   slotState = iota // no seat
	slotQueued                  // waits for one
	slotBusy                    // has one
	slotIdle                    // has one that others may have
)

// takeSeat reports whether a session may be started.
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

// seated goes on once the lane has a seat.
func (l *lane) slotAssigned() {
	if l.slot != slotQueued || !l.manager.pool.has(l) {
		return // it has given it back meanwhile
	}
	l.slot = slotBusy
	if l.busy == "" {
		l.handAll()
		l.dispatch()
	}
}

// yield ends the session for the sake of another channel, unless it is in use.
func (l *lane) evict() {
	switch {
	case l.ending || l.slot == slotNone || l.slot == slotQueued: // it is on its way, or gone
	case l.unused() && !l.ownTurn:
		l.manager.stats.evicted.Add(1)
		l.endIdle("another channel needs a session")
	default:
		l.manager.pool.markBusy(l)
		l.slot = slotBusy
	}
}

// accountSeat tells the seats what has changed.
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
	case l.unused() && !l.ownTurn:
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

// seatWanted says that the lane waits for a seat.
func (l *lane) slotWait() string {
	if l.slot != slotQueued {
		return ""
	}
	return fmt.Sprintf("As many sessions are alive and busy as may be (%d, see BARECLAW_MAX_SESSIONS); it waits until one is free.", l.manager.pool.limit)
}
