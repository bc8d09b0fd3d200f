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
	if news := l.session.background.newsUntil; time.Now().Before(news) {
		return news // to check again
	}
	if !l.session.background.reporting && l.replaced() != "" {
		return l.session.activity.lastHeard
	}
	if l.manager.o.IdleTimeout <= 0 {
		return time.Time{}
	}
	return l.session.activity.lastHeard.Add(l.manager.o.IdleTimeout)
}

// replaced returns why to end an unused session at once, for the next message to start a new
// process; empty if the session may stay.
func (l *lane) replaced() string {
	switch {
	case l.session.info.Stale:
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
// and no background tasks, gets no turn now, and waits for no approval.
func (l *lane) unused() bool {
	return l.session != nil && l.busy == "" && len(l.inflight) == 0 && len(l.pendingApprovals) == 0 && l.session.background.tasks == 0 &&
		(len(l.pending) == 0 || l.parked != nil)
}

// endUnused ends a session unused for too long, or to be replaced.
func (l *lane) endUnused() {
	l.manager.stats.idled.Add(1)
	l.endIdle(cmp.Or(l.replaced(), "idle"))
}

// endIdle ends the session gently; the next message resumes the conversation. New messages
// wait meanwhile.
func (l *lane) endIdle(why string) {
	l.log.Info("session is ended", "why", why, "silent_for", l.session.activity.silence())
	l.busy, l.ending = endingSession, true
	l.manager.pool.markEnding(l)
	if err := l.session.Stop(core.StopGently); err != nil {
		l.log.Warn("session not asked to end", "err", err) // the session's end is reported in any case
	}
}

// wornPart is the part of a turn's budget spent by a session before the lane replaces the
// session. The agent counts from the start of the process, which reduces the budget of later
// turns.
const wornPart = 1.0 / 10

// turnBudgetSpent reports whether to replace the session between turns, because the agent's
// process has used up the budget of a turn, or at least wornPart of the budget. Background
// tasks, and the report after the last task has ended, keep a process with some budget left.
func (l *lane) turnBudgetSpent() bool {
	limit := l.manager.o.TurnBudget
	if limit <= 0 || l.session == nil {
		return false
	}
	b := &l.session.background
	return l.cost.exhausted || b.tasks == 0 && !b.mayReport() && l.cost.inProcess() >= limit*wornPart
}

// replaceIfBudgetSpent reports whether the session may run another turn. Otherwise
// replaceIfBudgetSpent ends the session, and waiting messages run in a resuming session.
func (l *lane) replaceIfBudgetSpent() bool {
	if !l.turnBudgetSpent() {
		return true
	}
	l.endIdle("the budget of a turn is begun")
	return false
}
