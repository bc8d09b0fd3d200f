package core

import (
	"context"
	"slices"
)

// A stillness is what somebody waits for on a lane that is halted.
type stillness struct {
	ended   bool // the session has to end too
	reached chan struct{}
}

// halt has the channel's lane begin no turn, and not retire, until resume.
func (m *ProcessManager) halt(key ChannelKey) (*lane, error) {
	return m.postTo(key, func(l *lane) { l.halts++ })
}

func (l *lane) resume() {
	l.post(func() {
		l.halts--
		l.dispatch()
	})
}

// whenStill returns when nothing happens on the halted lane: what runs has ended, what
// was accepted is written. Messages may come, and wait.
func (l *lane) whenStill(ctx context.Context, ended bool) error {
	s := &stillness{ended, make(chan struct{})}
	if err := l.call(ctx, func() { l.stills = append(l.stills, s) }); err != nil {
		return err
	}
	_, err := toldBy(ctx, l, s.reached)
	return err
}

// lookStill tells those who wait that the lane is still, and ends a session that has
// to end, once it is unused.
func (l *lane) lookStill() {
	l.stills = slices.DeleteFunc(l.stills, func(s *stillness) bool {
		if s.ended && l.session != nil && l.busy == "" && len(l.flights) == 0 && !l.ownTurn {
			l.endIdle("its channel goes on under another key")
		}
		if !l.still(s.ended) {
			return false
		}
		close(s.reached)
		return true
	})
}

func (l *lane) still(ended bool) bool {
	return l.busy == "" && len(l.flights) == 0 && !l.opening && !l.attaching && l.saving == 0 && l.writing == 0 &&
		l.resetting == nil && !l.reordering && !slices.ContainsFunc(l.pending, (*item).unsettled) && (!ended || l.session == nil)
}

// unsettled reports whether something about a waiting message is being written.
func (it *item) unsettled() bool { return !it.durable || it.moving || it.changing }

// claim keeps the queue of a lane that is still as it is, but for what comes new, until
// disclaim; false if it is not still any more.
func (l *lane) claim(ctx context.Context, ended bool) (ok bool, err error) {
	still := false
	err = l.call(ctx, func() {
		still = l.still(ended)
		l.reordering = l.reordering || still
	})
	return err == nil && still, err
}

func (l *lane) disclaim() {
	l.post(func() { l.reordering = false })
}
