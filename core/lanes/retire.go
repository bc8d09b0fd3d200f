package lanes

import "errors"

// errRetired is what a lane that has ended, since nothing was left to do, is
// asked in vain.
var errRetired = errors.New("lane has retired")

// retire ends a lane that has nothing left to do or to remember, so that a known
// channel costs no goroutine, and reports whether it did. A message that comes at
// this moment finds the mailbox closed, or keeps the lane.
func (l *lane) retire() bool {
	if !l.empty() {
		return false
	}
	l.manager.mu.Lock()
	defer l.manager.mu.Unlock()
	if l.manager.closed || !l.mailbox.close() {
		return false
	}
	delete(l.manager.lanes, l.key)
	if len(l.notices) == 0 && len(l.manager.o.Greeting) > 0 {
		l.manager.greeted[l.key] = struct{}{}
	}
	if l.timer.timer != nil {
		l.timer.timer.Stop()
	}
	return true
}

// empty reports whether nothing would be lost with the lane: neither a message
// nor a session, nor a write under way, nor what only the lane knows.
func (l *lane) empty() bool {
	return l.pauses == 0 && l.session == nil && len(l.pending) == 0 && len(l.inflight) == 0 && len(l.pendingApprovals) == 0 &&
		l.busy == "" && !l.opening && l.saving == 0 && l.writing == 0 && l.resetting == nil &&
		l.parked == nil && l.slot == slotNone && !l.unopened &&
		len(l.notices) <= len(l.manager.o.Greeting) && l.sessionKept()
}

// sessionKept reports whether the session is found again without the lane.
func (l *lane) sessionKept() bool {
	if l.sessionID == "" || !l.manager.o.Agent.Lasting() {
		return true
	}
	id, ok := l.manager.o.Sessions.Get(l.key)
	return ok && id == l.sessionID
}
