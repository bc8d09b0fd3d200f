package telegram

import (
	"context"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/adapters/telegram/view"
)

// unrecordedDelay is how long recording fails before people are notified: a disk may be
// slow for a moment.
const unrecordedDelay = 3 * time.Second

const unrecordedText = "I cannot save anything at present: the gateway's disk is full, or fails. Your message is not lost. " +
	"It waits at Telegram, and I read it as soon as I can; please do not send it again."

type unrecorded struct {
	since time.Time // zero: updates are recorded
	told  map[chats.Address]bool
}

// tellUnrecorded notifies the senders of updates that cannot be recorded, once in each
// conversation. The notice is not recorded either, and may be lost, or repeated by the
// next process.
func (p *poller) tellUnrecorded(arrivals []*arrival) {
	u := &p.unrecorded
	if u.since.IsZero() {
		*u = unrecorded{since: time.Now(), told: map[chats.Address]bool{}}
	}
	if time.Since(u.since) < unrecordedDelay {
		return
	}
	for _, r := range arrivals {
		m := r.update.Message
		if m == nil || m.From == nil {
			continue
		}
		if to := chats.AddressOf(m); !u.told[to] {
			u.told[to] = true
			note := outbox.NoteParts(view.Note{Text: unrecordedText, ReplyTo: m.ID})[0]
			p.sender.Post(to, throttle.Progress, func(ctx context.Context) error {
				_, err := note.Send(ctx, p.client, to)
				return err
			})
		}
	}
}
