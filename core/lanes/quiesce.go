package lanes

import (
	"context"
	"slices"
)

// A quiesceWaiter is a caller waiting for a paused lane to become quiet.
type quiesceWaiter struct {
	sessionGone bool // the session must end too
	quiet       chan struct{}
}

func (l *lane) resume() {
	l.post(func() {
		l.pauses--
		l.dispatch()
	})
}

// awaitQuiet returns when the paused lane is quiet: running turns have ended, and accepted
// messages are written. New messages may arrive, and wait. With ended, the session must have
// ended too.
func (l *lane) awaitQuiet(ctx context.Context, ended bool) error {
	s := &quiesceWaiter{ended, make(chan struct{})}
	if err := l.call(ctx, func() { l.quietWaiters = append(l.quietWaiters, s) }); err != nil {
		return err
	}
	_, err := await(ctx, l.worker, s.quiet)
	return err
}

// notifyQuiet notifies waiters once the lane is quiet, and ends an unused session if a
// waiter needs the end.
func (l *lane) notifyQuiet() {
	l.quietWaiters = slices.DeleteFunc(l.quietWaiters, func(s *quiesceWaiter) bool {
		if s.sessionGone && l.session != nil && l.busy == "" && len(l.inflight) == 0 && !l.session.background.reporting {
			l.endIdle("its channel goes on under another key")
		}
		if !l.isQuiet(s.sessionGone) {
			return false
		}
		close(s.quiet)
		return true
	})
}

func (l *lane) isQuiet(ended bool) bool {
	return l.busy == "" && len(l.inflight) == 0 && !l.opening && !l.attaching && l.saving == 0 && l.journal.isIdle() &&
		l.resetting == nil && !l.reordering && !slices.ContainsFunc(l.pending, (*queued).isUnsettled) && (!ended || l.session == nil)
}

// isUnsettled reports whether a write concerning the waiting message is under way.
func (it *queued) isUnsettled() bool { return !it.durable || it.moving || it.changing }

// freezeQueue keeps the queue of a quiet lane unchanged, except for new messages, until
// thawQueue. freezeQueue reports false if the lane is no longer quiet.
func (l *lane) freezeQueue(ctx context.Context, ended bool) (ok bool, err error) {
	still := false
	err = l.call(ctx, func() {
		still = l.isQuiet(ended)
		l.reordering = l.reordering || still
	})
	return err == nil && still, err
}

func (l *lane) thawQueue() {
	l.post(func() { l.reordering = false })
}
