package lanes

import (
	"context"
	"slices"

	"bareclaw/core"
)

// A stillness is what somebody waits for on a lane that is halted.
type quiesceWaiter struct {
	sessionGone bool // the session has to end too
	quiet       chan struct{}
}

// halt has the channel's lane begin no turn, and not retire, until resume.
func (m *Manager) pause(key core.ChannelKey) (*lane, error) {
	return m.postTo(key, func(l *lane) { l.pauses++ })
}

func (l *lane) resume() {
	l.post(func() {
		l.pauses--
		l.dispatch()
	})
}

// whenStill returns when nothing happens on the halted lane: what runs has ended, what
// was accepted is written. Messages may come, and wait.
func (l *lane) awaitQuiet(ctx context.Context, ended bool) error {
	s := &quiesceWaiter{ended, make(chan struct{})}
	if err := l.call(ctx, func() { l.quietWaiters = append(l.quietWaiters, s) }); err != nil {
		return err
	}
	_, err := await(ctx, l, s.quiet)
	return err
}

// lookStill tells those who wait that the lane is still, and ends a session that has
// to end, once it is unused.
func (l *lane) notifyQuiet() {
	l.quietWaiters = slices.DeleteFunc(l.quietWaiters, func(s *quiesceWaiter) bool {
		if s.sessionGone && l.session != nil && l.busy == "" && len(l.inflight) == 0 && !l.ownTurn {
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
	return l.busy == "" && len(l.inflight) == 0 && !l.opening && !l.attaching && l.saving == 0 && l.writing == 0 &&
		l.resetting == nil && !l.reordering && !slices.ContainsFunc(l.pending, (*queued).isUnsettled) && (!ended || l.session == nil)
}

// unsettled reports whether something about a waiting message is being written.
func (it *queued) isUnsettled() bool { return !it.durable || it.moving || it.changing }

// claim keeps the queue of a lane that is still as it is, but for what comes new, until
// disclaim; false if it is not still any more.
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
