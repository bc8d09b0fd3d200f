package lanes

import (
	"errors"
	"fmt"
	"slices"

	"bareclaw/core"
)

// An intake admits messages, and changes waiting messages on request.
type intake struct {
	*channel
	queue   *queue
	conv    *conversation
	turns   *turns
	advance func() // begins turns
}

// admit adds a new message to the queue, or refuses the message.
//
// If a turn begins at once, message and turn become durable in one sync. Otherwise the
// message is written separately. A message with a source key is always written separately,
// because the message may be a duplicate.
func (in *intake) admit(it *queued) {
	if limit := in.manager.o.QueueLimit; in.turns.open() >= limit {
		in.manager.stats.QueueRefused.Add(1)
		in.queue.refuse(it, fmt.Errorf("%w: channel already holds %d messages", core.ErrQueueFull, limit))
		return
	}
	in.queue.onArrival(it)
	if f := in.turns.running(); f != nil && it.msg.Mode == core.Interrupt {
		it.msg.Interrupts = f.turn.ID
	}
	in.queue.items = append(in.queue.items, it)
	if it.msg.SourceKey == "" && it.decides == nil {
		in.advance()
	}
	if !it.written && !it.refused {
		in.accept(it)
	}
}

// admitOrRefuse calls admit, and refuses the message if admit panics before the message is
// in the queue.
func (in *intake) admitOrRefuse(it *queued) {
	defer func() {
		if !it.written && !it.refused && in.queue.position(it.msg.ID) == 0 {
			in.queue.refuse(it, errInternal)
		}
	}()
	in.admit(it)
}

// accept writes the message to the ledger separately from a turn.
func (in *intake) accept(it *queued) {
	it.written = true
	c := core.Change{Accept: []*core.Message{it.msg}}
	if it.decides != nil {
		c.Approvals = []*core.Approval{it.decides}
	}
	in.journal.try(c, func(err error) { in.acceptDone(it, err) })
}

func (in *intake) acceptDone(it *queued, err error) {
	if err != nil {
		in.queue.items = slices.DeleteFunc(in.queue.items, func(other *queued) bool { return other == it })
		in.queue.refuse(it, err)
		if dup := (*core.DuplicateError)(nil); !errors.As(err, &dup) {
			in.log.Warn("message refused", "message", string(it.msg.ID), "err", err)
		}
		return
	}
	it.durable = true
	in.queue.announceAccepted(it)
	if a := it.decides; a != nil {
		in.publish(core.Update{Kind: core.UpdateApprovalClosed, Approval: a, Turn: a.Turn})
	}
	if in.queue.position(it.msg.ID) > 0 {
		in.applyMode(it)
	}
}

// applyMode acts on the mode of a waiting message. Call applyMode only for a durable
// message: a refused or duplicate message must not affect the running turn.
func (in *intake) applyMode(it *queued) {
	in.turns.interruptFor(it)
	f := in.turns.running()
	switch {
	case f == nil:
	case it.msg.Mode == core.Join && f.isOf(it.msg):
		in.turns.join(it, f)
	case it.msg.Mode == core.Steer:
		in.turns.steer(it, f)
	}
}

// change applies the function change to a waiting message, once no write that concerns the
// message is under way. For a message that does not wait, done receives ErrNotWaiting.
func (in *intake) change(id core.MessageID, change func(*queued, func(error)), done func(error)) {
	i := in.queue.position(id) - 1
	switch {
	case i < 0 || in.queue.items[i].moving || !in.queue.items[i].durable:
		done(core.ErrNotWaiting)
	case in.queue.items[i].changing || in.queue.reordering:
		in.retryLater(func() { in.change(id, change, done) })
	default:
		change(in.queue.items[i], done)
	}
}

// cancel settles a waiting message as cancelled, and calls done once the outcome is durable.
func (in *intake) cancel(it *queued, done func(error)) {
	in.queue.items = slices.DeleteFunc(in.queue.items, func(other *queued) bool { return other == it })
	v := outcomes{durable: func() { done(nil) }}
	v.set(it, core.Reply{State: core.Cancelled, Code: core.CodeCancelled, Error: "Cancelled before it was begun."})
	in.turns.commitOutcomes(v)
}

// amend writes the new content before applying the change. The message, and messages waiting
// behind, are not dispatched meanwhile.
func (in *intake) amend(it *queued, c core.Content, done func(error)) {
	amended := *it.msg
	amended.Content, amended.Prompt = c, core.PromptOf(c)
	if err := in.composes(&amended); err != nil {
		done(fmt.Errorf("%w: %w", core.ErrBadContent, err))
		return
	}
	it.changing = true
	in.journal.try(core.Change{Amend: []*core.Message{&amended}}, func(err error) {
		it.changing = false
		if err == nil {
			in.log.Debug("message amended", "message", string(amended.ID), "text", amended.Prompt.Text)
			it.msg.Content, it.msg.Prompt = amended.Content, amended.Prompt
		}
		done(err)
	})
}

// composes returns an error if a message cannot form a turn.
func (in *intake) composes(m *core.Message) error {
	content, err := core.Coalesce([]*core.Message{m})
	if err == nil {
		_, err = in.manager.o.Agent.Compose(core.TurnID(m.ID), content) // any UUID will do
	}
	return err
}

// runNow writes the new order before applying the order. No turn begins meanwhile.
func (in *intake) runNow(it *queued, done func(error)) {
	running := in.turns.running()
	if in.queue.items[0] == it {
		in.makeWay(running)
		done(nil)
		return
	}
	rank := min(0, in.queue.items[0].msg.Rank) - 1
	in.queue.reordering = true
	in.journal.try(core.Change{Reorder: []core.Rank{{ID: it.msg.ID, Rank: rank}}}, func(err error) {
		in.queue.reordering = false
		if err == nil {
			it.msg.Rank = rank
			in.queue.sort()
			in.makeWay(running)
		}
		done(err)
	})
}

// makeWay interrupts the turn, if still running, and retries a parked channel unless the
// park's end is known and in the future.
func (in *intake) makeWay(f *inflight) {
	if f != nil && !f.answered && in.turns.find(f.turn.ID) == f {
		in.turns.interrupt(f, &stop{reply: interruption("Interrupted for a message that was put first.")})
	}
	if in.queue.parked != nil && (!in.queue.parked.firm || !in.now().Before(in.queue.parked.until)) {
		in.queue.unpark()
	}
}
