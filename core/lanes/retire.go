package lanes

// retire ends a lane without work or unsaved state, because a known channel must not cost a
// goroutine, and reports whether the lane ended. A message arriving meanwhile finds the
// mailbox closed, or keeps the lane.
func (l *lane) retire() bool {
	if !l.empty() {
		return false
	}
	greeted := len(l.notices) == 0 && len(l.manager.o.Greeting) > 0
	if !l.manager.lanes.remove(l, greeted) {
		return false
	}
	if l.timer.timer != nil {
		l.timer.timer.Stop()
	}
	return true
}

// empty reports whether the lane can end without a loss: without messages, a session, a
// write under way, and state known only to the lane.
func (l *lane) empty() bool {
	return l.session == nil && len(l.pending) == 0 && len(l.inflight) == 0 && len(l.pendingApprovals) == 0 &&
		l.busy == "" && !l.opening && l.saving == 0 && l.journal.isIdle() && l.resetting == nil &&
		l.parked == nil && l.slot == slotNone && !l.unopened &&
		len(l.notices) <= len(l.manager.o.Greeting) && l.sessionKept()
}

// sessionKept reports whether a new lane would find the session id.
func (l *lane) sessionKept() bool {
	if l.sessionID == "" || !l.manager.o.Agent.Lasting() {
		return true
	}
	id, ok := l.manager.o.Sessions.Get(l.key)
	return ok && id == l.sessionID
}
