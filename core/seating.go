package core

import "fmt"

// A seating is what a lane has told the seats of itself.
type seating int

const (
	standing    seating = iota // no seat
	queueing                   // waits for one
	seatInUse                  // has one
	seatYielded                // has one that others may have
)

// takeSeat reports whether a session may be started.
func (l *lane) takeSeat() bool {
	if l.m.seats.limit == 0 {
		return true
	}
	if l.seat == standing {
		l.seat = queueing
		if l.m.seats.take(l) {
			l.seat = seatInUse
		}
	}
	return l.seat != queueing
}

// seated goes on once the lane has a seat.
func (l *lane) seated() {
	if l.seat != queueing || !l.m.seats.has(l) {
		return // it has given it back meanwhile
	}
	l.seat = seatInUse
	if l.busy == "" {
		l.handAll()
		l.dispatch()
	}
}

// yield ends the session for the sake of another channel, unless it is in use.
func (l *lane) yield() {
	switch {
	case l.leaving || l.seat == standing || l.seat == queueing: // it is on its way, or gone
	case l.unused() && !l.ownTurn:
		l.m.stats.evicted.Add(1)
		l.endIdle("another channel needs a session")
	default:
		l.m.seats.works(l)
		l.seat = seatInUse
	}
}

// accountSeat tells the seats what has changed.
func (l *lane) accountSeat() {
	if l.seat == standing || l.leaving {
		return
	}
	switch {
	case l.session == nil && !l.opening && l.busy == "" && len(l.flights) == 0:
		if l.seat != queueing || len(l.pending) == 0 || l.parked != nil {
			l.giveSeat()
		}
	case l.seat == queueing:
	case l.unused() && !l.ownTurn:
		if l.seat != seatYielded {
			l.m.seats.rests(l)
			l.seat = seatYielded
		}
	case l.seat == seatYielded:
		l.m.seats.works(l)
		l.seat = seatInUse
	}
}

func (l *lane) giveSeat() {
	if l.seat != standing {
		l.m.seats.release(l)
		l.seat = standing
	}
}

// seatWanted says that the lane waits for a seat.
func (l *lane) seatWanted() string {
	if l.seat != queueing {
		return ""
	}
	return fmt.Sprintf("As many sessions are alive and busy as may be (%d, see BARECLAW_MAX_SESSIONS); it waits until one is free.", l.m.seats.limit)
}
