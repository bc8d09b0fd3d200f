package lanes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bareclaw/core"
)

// Queue returns the messages that wait on the channel, in the order in which they
// will run: those that are accepted. It is empty for a channel where none waits.
func (m *Manager) Queue(ctx context.Context, key core.ChannelKey) ([]core.Message, error) {
	l, ok := m.known(key)
	if !ok {
		return nil, nil
	}
	var all []core.Message
	err := l.call(ctx, func() {
		for _, it := range l.pending {
			if it.durable {
				all = append(all, *it.msg)
			}
		}
	})
	switch {
	case errors.Is(err, errRetired):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return all, nil
}

// Amend gives a waiting message another content; when it returns without an error
// that is durable, and is what the agent gets. A source key stays bound to what was
// submitted first. Errors: ErrNotFound; ErrNotWaiting when the message runs or has its
// outcome, which Message shows; ErrBadContent; those of the storage; ErrClosed.
func (m *Manager) Amend(ctx context.Context, id core.MessageID, c core.Content) error {
	if err := core.CheckContent(c); err != nil {
		return err
	}
	return m.waiting(ctx, id, func(l *lane, done func(error)) { l.amend(id, c, done) })
}

// RunNow puts a waiting message first in its channel's queue, for good, and interrupts
// the turn that ran when it was asked, never a later one. The message becomes the first
// of the next turn, with those that wait behind it, as always. On a channel that is parked without a known
// end it is tried at once. It returns when the order is durable, not when the turn has
// ended. Errors: ErrNotFound, ErrNotWaiting, those of the storage, ErrClosed.
func (m *Manager) RunNow(ctx context.Context, id core.MessageID) error {
	return m.waiting(ctx, id, func(l *lane, done func(error)) { l.runNow(id, done) })
}

// waiting has the lane of a message that has no outcome do something with it, and
// returns what it tells.
func (m *Manager) waiting(ctx context.Context, id core.MessageID, do func(*lane, func(error))) error {
	for {
		t, ok := m.tickets.find(id)
		if !ok {
			break
		}
		l, ok := m.known(t.Message.Channel)
		if !ok {
			break
		}
		done := make(chan error, 1)
		if !l.post(func() { do(l, func(err error) { done <- err }) }) {
			continue // it has retired just now: see below
		}
		said, err := await(ctx, l, done)
		switch {
		case errors.Is(err, errRetired), errors.Is(said, errMoved): // it has its outcome, or is on another channel
			continue
		case err != nil:
			return err
		case errors.Is(said, core.ErrNotWaiting):
			return fmt.Errorf("message %s: %w", id, said)
		}
		return said
	}
	msg, err := m.o.Ledger.Message(ctx, id)
	if err != nil {
		return err
	}
	return fmt.Errorf("message %s is %s: %w", id, msg.State, core.ErrNotWaiting)
}

// errMoved says that a message is in the queue of another channel by now.
var errMoved = errors.New("message was moved to another channel")

// settleFirst returns the waiting message, or has again run a little later while
// something about it is being written. It tells done what keeps it from being found.
func (l *lane) settleFirst(id core.MessageID, done func(error), again func()) *queued {
	i := l.position(id) - 1
	switch {
	case i < 0 && l.reordering: // it may be on its way to another channel, or here
		l.retryLater(again)
		return nil
	case i < 0 || l.pending[i].moving || !l.pending[i].durable:
		if t, ok := l.manager.tickets.find(id); ok && t.Message.Channel != l.key {
			done(errMoved)
			return nil
		}
		done(core.ErrNotWaiting)
		return nil
	case l.pending[i].changing || l.reordering: // comes first
		l.retryLater(again)
		return nil
	}
	return l.pending[i]
}

// amend writes the content first: it, and what waits behind it, is not begun
// meanwhile.
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
	l.manager.o.Ledger.Write(core.Change{Amend: []*core.Message{&amended}}, func(err error) {
		l.post(func() {
			it.changing = false
			if err == nil {
				l.log.Debug("message amended", "message", string(id), "text", amended.Prompt.Text)
				it.msg.Content, it.msg.Prompt = amended.Content, amended.Prompt
			}
			done(err)
			l.dispatch()
		})
	})
}

// composes returns why no turn can be made of a message.
func (l *lane) composes(m *core.Message) error {
	content, err := core.Coalesce([]*core.Message{m})
	if err == nil {
		_, err = l.manager.o.Agent.Compose(core.TurnID(m.ID), content) // any UUID will do
	}
	return err
}

// runNow writes the order first: nothing is begun meanwhile.
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
	l.manager.o.Ledger.Write(core.Change{Reorder: []core.Rank{{ID: id, Rank: rank}}}, func(err error) {
		l.post(func() {
			l.reordering = false
			if err == nil {
				it.msg.Rank = rank
				l.sortPending()
				l.makeWay(running)
			}
			done(err)
			l.dispatch()
		})
	})
}

func (l *lane) lowestRank() int {
	rank := 0
	for _, it := range l.pending {
		rank = min(rank, it.msg.Rank)
	}
	return rank
}

// sortPending brings the queue into the order in which a new process would find it.
func (l *lane) sortPending() {
	slices.SortStableFunc(l.pending, func(a, b *queued) int { return a.msg.Rank - b.msg.Rank })
}

// makeWay interrupts the turn, if it still runs, and has a parked channel try again,
// if nobody knows better when to.
func (l *lane) makeWay(f *inflight) {
	if f != nil && !f.answered && l.findInflight(f.turn.ID) == f {
		l.interrupt(f, &stop{code: core.CodeInterrupted, text: "Interrupted for a message that was put first."})
	}
	if l.parked != nil && (!l.parked.firm || !l.now().Before(l.parked.until)) {
		l.unpark()
		l.dispatch()
	}
}
