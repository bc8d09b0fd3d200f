package core

import "math"

// wornPart is which part of a turn's budget a session may have spent before it is
// replaced: the agent counts from the start of its process, so that the next turn
// has so much less.
const wornPart = 1.0 / 10

// spend takes up the running total that a result of the session gives, and returns
// what the result cost. A lower total than before says nothing: with some errors
// the agent gives 0.
func (l *lane) spend(total float64) float64 {
	cost := max(0, total-l.cost)
	l.cost = max(l.cost, total)
	return cost
}

// countFrom says what the session's running total is at first, and what it was
// when its process began.
func (l *lane) countFrom(total, launched float64) {
	l.cost, l.launched, l.broke = total, launched, false
}

// unknownLaunch is the total at the start of a process that an earlier gateway
// started: whatever it is now, it may all have been spent since.
var unknownLaunch = math.Inf(-1)

// worn reports whether the session is to be replaced between turns, because its
// process has too little left of the budget of a turn, or nothing. Background tasks
// keep a process that has something left.
func (l *lane) worn() bool {
	limit := l.m.o.TurnBudget
	if limit <= 0 || l.session == nil {
		return false
	}
	return l.broke || l.tasks == 0 && l.cost-l.launched >= limit*wornPart
}

// unworn reports whether the session may get another turn. If it may not it is
// ended, and what waits runs in the one that resumes it.
func (l *lane) unworn() bool {
	if !l.worn() {
		return true
	}
	l.endIdle("the budget of a turn is begun")
	return false
}
