package lanes

import "slices"

// unread takes up that the host does not read what the agent says next, since it cannot
// keep it: what need not be said again is acknowledged. why is a sentence's part for a
// person when it cannot be written, and empty when it was only much.
func (l *lane) onHostBlocked(why string) {
	works := func(f *inflight) bool { return f.handed && !f.answered && !f.agentDone }
	if slices.ContainsFunc(l.inflight, works) {
		l.releaseOpenAcks() // of turns that are part of that one: what names them may be just what cannot be kept
	}
	l.ack()
	if why == "" || l.hostBlocked != "" {
		return
	}
	l.hostBlocked = "What Claude says cannot be kept, so it is not read and its turn stands still: " + why + ". It goes on by itself then."
	l.log.Error("claude is not read: what it says cannot be kept", "why", why)
	if f := l.running(); f != nil {
		f.mark(l.now(), "not_read", why)
		l.tellStalled(f, l.hostBlocked)
	}
}

// readAgain takes up that the host reads the agent.
func (l *lane) onHostUnblocked() {
	if l.hostBlocked != "" {
		l.hostBlocked = ""
		l.log.Info("claude is read again")
	}
}
