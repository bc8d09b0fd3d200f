package lanes

import (
	"cmp"
	"time"

	"bareclaw/core"
)

// endingSession is the value of lane.busy while the idle session ends.
const endingSession = "ending the idle session"

// idleDue returns when to end the unused session, or when to check again; zero if never.
func (l *lane) idleDue() time.Time {
	if !l.unused() {
		return time.Time{}
	}
	if time.Now().Before(l.newsUntil) {
		return l.newsUntil // to check again
	}
	if !l.ownTurn && l.replaced() != "" {
		return l.lastHeard
	}
	if l.manager.o.IdleTimeout <= 0 {
		return time.Time{}
	}
	return l.lastHeard.Add(l.manager.o.IdleTimeout)
}

// replaced returns why to end an unused session at once, for the next message to start a new
// process; empty if the session may stay.
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

// unused reports whether the session can be ended without a loss: the session has no turn
// and no background tasks, gets no turn now, and waits for no approval. During a move the
// session may block the turn awaited by the move, so waiting messages do not count.
func (l *lane) unused() bool {
	return l.session != nil && l.busy == "" && len(l.inflight) == 0 && len(l.pendingApprovals) == 0 && l.tasks == 0 &&
		(len(l.pending) == 0 || l.parked != nil || l.pauses > 0)
}

// endUnused ends a session unused for too long, or to be replaced.
func (l *lane) endUnused() {
	l.manager.stats.idled.Add(1)
	l.endIdle(cmp.Or(l.replaced(), "idle"))
}

// endIdle ends the session gently; the next message resumes the conversation. New messages
// wait meanwhile.
func (l *lane) endIdle(why string) {
	l.log.Info("session is ended", "why", why, "silent_for", time.Since(l.lastHeard).Round(time.Second))
	l.busy, l.ending = endingSession, true
	l.manager.pool.markEnding(l)
	if err := l.session.Stop(core.StopGently); err != nil {
		l.log.Warn("session not asked to end", "err", err) // the session's end is reported in any case
	}
}

// noteOwnTurn records whether the agent works without a request, for example on the report
// of a background task, and marks the first output in a turn.
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
