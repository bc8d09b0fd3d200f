package lanes

import (
	"fmt"
	"slices"

	"bareclaw/core"
)

// settleFirst returns the waiting message. While a write concerning the message is under
// way, settleFirst schedules again and returns nil. Otherwise settleFirst reports the reason
// for a missing message to done and returns nil.
func (l *lane) settleFirst(id core.MessageID, done func(error), again func()) *queued {
	i := l.position(id) - 1
	switch {
	case i < 0 || l.pending[i].moving || !l.pending[i].durable:
		done(core.ErrNotWaiting)
		return nil
	case l.pending[i].changing || l.reordering: // the write under way comes first
		l.retryLater(again)
		return nil
	}
	return l.pending[i]
}

// amend writes the new content before applying the change. The message, and messages waiting
// behind, are not dispatched meanwhile.
func (l *lane) amend(id core.MessageID, c core.Content, done func(error)) {
	it := l.settleFirst(id, done, func() { l.amend(id, c, done) })
	if it == nil {
		return
	}
	amended := *it.msg
	amended.Content, amended.Prompt = c, core.PromptOf(c)
	if err := l.composes(&amended); err != nil {
		done(fmt.Errorf("%w: %w", core.ErrBadContent, err))
		return
	}
	it.changing = true
	l.journal.try(core.Change{Amend: []*core.Message{&amended}}, func(err error) {
		it.changing = false
		if err == nil {
			l.log.Debug("message amended", "message", string(id), "text", amended.Prompt.Text)
			it.msg.Content, it.msg.Prompt = amended.Content, amended.Prompt
		}
		done(err)
		l.dispatch()
	})
}

// composes returns an error if a message cannot form a turn.
func (l *lane) composes(m *core.Message) error {
	content, err := core.Coalesce([]*core.Message{m})
	if err == nil {
		_, err = l.manager.o.Agent.Compose(core.TurnID(m.ID), content) // any UUID will do
	}
	return err
}

// runNow writes the new order before applying the order. No turn begins meanwhile.
func (l *lane) runNow(id core.MessageID, done func(error)) {
	it := l.settleFirst(id, done, func() { l.runNow(id, done) })
	if it == nil {
		return
	}
	running := l.running()
	if l.pending[0] == it {
		l.makeWay(running)
		done(nil)
		return
	}
	rank := l.lowestRank() - 1
	l.reordering = true
	l.journal.try(core.Change{Reorder: []core.Rank{{ID: id, Rank: rank}}}, func(err error) {
		l.reordering = false
		if err == nil {
			it.msg.Rank = rank
			l.sortPending()
			l.makeWay(running)
		}
		done(err)
		l.dispatch()
	})
}

func (l *lane) lowestRank() int {
	rank := 0
	for _, it := range l.pending {
		rank = min(rank, it.msg.Rank)
	}
	return rank
}

// sortPending sorts the queue into the order used by a new process.
func (l *lane) sortPending() {
	slices.SortStableFunc(l.pending, func(a, b *queued) int { return a.msg.Rank - b.msg.Rank })
}

// makeWay interrupts the turn, if still running, and retries a parked channel unless the
// park's end is known and in the future.
func (l *lane) makeWay(f *inflight) {
	if f != nil && !f.answered && l.findInflight(f.turn.ID) == f {
		l.interrupt(f, &stop{code: core.CodeInterrupted, text: "Interrupted for a message that was put first."})
	}
	if l.parked != nil && (!l.parked.firm || !l.now().Before(l.parked.until)) {
		l.unpark()
		l.dispatch()
	}
}
