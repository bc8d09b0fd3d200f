package lanes

import "slices"

// onHostBlocked handles the host's report of a full log: the host cannot store the agent's
// output and stops reading. onHostBlocked acknowledges all events not needed again, to free
// space. why is part of a sentence for a person when a write fails, and empty when the log
// was only too large.
func (l *lane) onHostBlocked(why string) {
	works := func(f *inflight) bool { return f.handed && !f.answered && !f.agentDone }
	if slices.ContainsFunc(l.inflight, works) {
		l.releaseOpenAcks() // of folded turns: the result naming the turns may be the output the host cannot store
	}
	l.session.acks.flush()
	if why == "" || l.session.hostBlocked != "" {
		return
	}
	l.session.hostBlocked = "What Claude says cannot be kept, so it is not read and its turn stands still: " + why + ". It goes on by itself then."
	l.log.Error("claude is not read: what it says cannot be kept", "why", why)
	if f := l.running(); f != nil {
		f.mark(l.now(), "not_read", why)
		l.tellStalled(f, l.session.hostBlocked)
	}
}

// onHostUnblocked handles the host's reading again.
func (l *lane) onHostUnblocked() {
	if l.session.hostBlocked != "" {
		l.session.hostBlocked = ""
		l.log.Info("claude is read again")
	}
}
