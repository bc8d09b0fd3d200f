package lanes

import (
	"cmp"
	"time"

	"bareclaw/core"
)

// endingSession is what a lane is busy with while its idle session ends.
const endingSession = "ending the idle session"

// idleDue is when the session has been without use for too long.
func (l *lane) idleDue() time.Time {
	if !l.unused() {
		return time.Time{}
	}
	if time.Now().Before(l.newsUntil) {
		return l.newsUntil // to look again
	}
	if !l.ownTurn && l.replaced() != "" {
		return l.lastHeard
	}
	if l.manager.o.IdleTimeout <= 0 {
		return time.Time{}
	}
	return l.lastHeard.Add(l.manager.o.IdleTimeout)
}

// replaced says why an unused session is ended at once, so that a new process is started
// for the next message; empty if it may stay.
func (l *lane) replaced() string {
	switch {
	case l.info.Stale:
		return "obsolete: it was started by another program, or with other settings of claude"
	case l.settingsStale():
		return "its channel has other settings"
	case l.turnBudgetSpent():
		return "the budget of a turn is begun"
	case l.parked != nil && l.parked.code == core.CodeNotLoggedIn:
		return "a new one reads the new login"
	}
	return ""
}

// unused reports whether the session could be ended without a loss: it has no
// turn, and gets none now, asks nobody, and has no background tasks. While a channel is
// being moved, its session may be in the way of the turn that is waited for.
func (l *lane) unused() bool {
	return l.session != nil && l.busy == "" && len(l.inflight) == 0 && len(l.pendingApprovals) == 0 && l.tasks == 0 &&
		(len(l.pending) == 0 || l.parked != nil || l.pauses > 0)
}

// endUnused ends a session that was without use for too long, or is to be replaced.
func (l *lane) endUnused() {
	l.manager.stats.idled.Add(1)
	l.endIdle(cmp.Or(l.replaced(), "idle"))
}

// endIdle ends the session gently; the next message resumes the conversation.
// What arrives meanwhile waits.
func (l *lane) endIdle(why string) {
	l.log.Info("session is ended", "why", why, "silent_for", time.Since(l.lastHeard).Round(time.Second))
	l.busy, l.ending = endingSession, true
	l.manager.pool.markEnding(l)
	if err := l.session.Stop(core.StopGently); err != nil {
		l.log.Warn("session not asked to end", "err", err) // its end is known all the same
	}
}

// noteOwnTurn notes whether the agent works on something of its own accord, such
// as the news of a background task, and when it first says something in a turn.
func (l *lane) noteOwnTurn(ev core.Event) {
	switch ev.Type {
	case "assistant", "stream_event":
		l.ownTurn = len(l.inflight) == 0
		if f := l.currentTurn(); f != nil && !f.spoke {
			f.spoke = true
			f.mark(l.eventTime(), "first_event", "")
		}
	case "result":
		l.ownTurn = false
	}
}
