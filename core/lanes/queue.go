package lanes

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"bareclaw/core"
)

// A queue holds the messages of a channel accepted, or being accepted, and not begun. A
// parked queue begins no turn.
type queue struct {
	*channel
	items      []*queued     // ordered by rank; of equal rank, in order of arrival
	reordering bool          // a ledger write is moving messages within the queue
	parked     *park         // why no turn begins; nil when not parked
	retried    *park         // the park lifted for the attempt now running
	limit      time.Time     // end of the agent's last usage limit
	delay      func() string // returns what else delays the messages; empty if nothing does
}

// A queued is a message in the queue or in a turn.
type queued struct {
	msg               *core.Message
	ticket            *core.Ticket   // of the caller waiting for acceptance; nil without a caller
	written           bool           // the acceptance was passed to the ledger
	decides           *core.Approval // approval decided by accepting the message; may be nil
	requeueWhenParked bool           // returns to the queue, instead of failing, when a turn parks the channel
	durable           bool
	refused           bool
	moving            bool // returning to the queue; must not change until the ledger has recorded the return
	changing          bool // the content is being written; the message must not be dispatched meanwhile
}

// notifyAccepted reports to the ticket, once, whether the message is accepted.
func (it *queued) notifyAccepted(err error) {
	if it.ticket != nil {
		it.ticket.Accept(err)
		it.ticket = nil
	}
}

func (q *queue) position(id core.MessageID) int {
	return 1 + slices.IndexFunc(q.items, func(it *queued) bool { return it.msg.ID == id })
}

func (q *queue) placeOf(id core.MessageID) core.QueuePosition {
	at := core.QueuePosition{Position: q.position(id)}
	if at.Position == 0 {
		return at
	}
	at.Why = q.why()
	if q.parked != nil {
		at.Until = q.parked.until
	}
	return at
}

// why returns what delays waiting messages besides earlier messages; empty if nothing does.
func (q *queue) why() string {
	parked := ""
	if q.parked != nil {
		parked = q.parked.why
	}
	return cmp.Or(parked, q.delay())
}

// isReady reports whether the message may be part of a turn. A message with a source key and
// not durable yet may be a duplicate.
func (it *queued) isReady() bool {
	return !it.moving && !it.changing && (it.durable || it.msg.SourceKey == "")
}

func (q *queue) batchSize() int {
	n := 0
	for n < len(q.items) && q.items[n].isReady() {
		n++
	}
	ms := make([]*core.Message, n)
	for i := range ms {
		ms[i] = q.items[i].msg
	}
	return core.BatchSize(ms)
}

func (q *queue) putBack(items []*queued) {
	q.items = append(items, q.items...)
	q.sort()
}

// sort sorts the queue into the order used by a new process.
func (q *queue) sort() {
	slices.SortStableFunc(q.items, func(a, b *queued) int { return a.msg.Rank - b.msg.Rank })
}

// announceDelay reports what delays the accepted messages, because their acceptance was
// reported before the delay was known.
func (q *queue) announceDelay() {
	for i, it := range q.items {
		if it.durable {
			msg := *it.msg
			q.publish(core.Update{Kind: core.UpdateQueued, Message: &msg, Position: i + 1, Detail: q.why()})
		}
	}
}

// announceReturn reports the messages of a turn that have returned to the queue.
func (q *queue) announceReturn(turn core.TurnID, items []*queued) {
	for _, it := range items {
		msg := *it.msg
		q.publish(core.Update{Kind: core.UpdateQueued, Turn: turn, Message: &msg, Position: q.position(msg.ID), Detail: q.why()})
	}
}

func (q *queue) refuse(it *queued, err error) {
	it.refused = true
	q.manager.tickets.drop(it.msg.ID)
	it.notifyAccepted(err)
}

func (q *queue) announceAccepted(it *queued) {
	parked := q.parked != nil && q.position(it.msg.ID) > 0
	if parked {
		q.tellParked(it)
	}
	it.notifyAccepted(nil)
	if q.log.Enabled(q.manager.ctx, slog.LevelDebug) {
		q.log.Debug("message accepted", "message", string(it.msg.ID), "adapter", it.msg.Adapter, "mode", it.msg.Mode, "turn", string(it.msg.Turn),
			"text", it.msg.Prompt.Text, "blocks", len(it.msg.Prompt.Blocks))
	}
	if !q.listening() {
		return
	}
	msg := *it.msg
	q.publish(core.Update{Kind: core.UpdateAccepted, Message: &msg})
	if pos := q.position(msg.ID); pos > 0 {
		q.publish(core.Update{Kind: core.UpdateQueued, Message: &msg, Position: pos, Detail: q.why()})
	}
	if parked {
		q.publish(core.Update{Kind: core.UpdateParked, Messages: []core.MessageID{msg.ID}, Detail: q.parked.why})
	}
}
