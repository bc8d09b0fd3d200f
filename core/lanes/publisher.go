package lanes

import (
	"time"

	"bareclaw/core"
)

// A publisher publishes the updates of a channel, except for updates from replayed events
// already published by an earlier process.
type publisher struct {
	*worker
	seq           uint64    // the event being handled; 0 between events
	receivedAt    time.Time // when the host first received the current event, if replayed; else zero
	publishedUpTo uint64    // last event of the session with updates published by an earlier process
}

// handling begins an event of the session; receivedAt is zero unless the event is replayed.
func (p *publisher) handling(seq uint64, receivedAt time.Time) { p.seq, p.receivedAt = seq, receivedAt }

// handled ends the events.
func (p *publisher) handled() { p.handling(0, time.Time{}) }

// eventTime returns when the event being handled happened: for a replayed event, the time
// when the host first received the event.
func (p *publisher) eventTime() time.Time {
	if !p.receivedAt.IsZero() {
		return p.receivedAt
	}
	return p.now()
}

// listening reports whether an update has a reader now or may have a reader soon.
func (p *publisher) listening() bool { return p.manager.Feeds.HasListeners(p.key) }

func (p *publisher) publish(u core.Update) {
	if p.listening() && !p.isPublished(&u) {
		u.At = p.now()
		p.manager.Feeds.Publish(p.key, u)
	}
}

// isPublished reports whether the update comes from a replayed event already published by an
// earlier process. A result needs a separate check, because the earlier process publishes a
// result only when durable, perhaps after handling the event.
func (p *publisher) isPublished(u *core.Update) bool {
	if p.seq == 0 || p.seq > p.publishedUpTo {
		return false
	}
	return u.Kind != core.UpdateResult || !p.manager.Feeds.IsUnpublished(p.key, u.Message.ID)
}

// publishOutcomes closes the tickets of messages with an outcome, and publishes the outcomes.
func (p *publisher) publishOutcomes(items []*queued) {
	outcomes, updates := make([]*core.Message, 0, len(items)), make([]core.Update, 0, len(items))
	for _, it := range items {
		msg := *it.msg
		outcomes = append(outcomes, &msg)
		u := core.Update{At: p.now(), Kind: core.UpdateResult, Turn: msg.Turn, Message: &msg}
		if !p.isPublished(&u) {
			updates = append(updates, u)
		}
	}
	p.manager.Feeds.PublishAtomically(func() { p.manager.tickets.resolve(outcomes) }, p.key, updates)
}
