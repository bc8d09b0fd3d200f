package telegram

import (
	"context"
	"errors"
	"time"

	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// storagePause is how long is waited before a message is submitted again that could
// not be recorded.
const storagePause = time.Second

// handle makes of arrivals of one conversation what there is to be made: one, or
// the messages of an album.
func (a *Adapter) handle(ctx context.Context, p place, batch []*arrival) {
	switch u := &batch[0].update; {
	case u.Message != nil:
		a.message(ctx, p, batch)
	}
	if ctx.Err() == nil {
		a.handled(ctx, batch...)
	}
}

// handleAside handles what waits for nothing else of its conversation.
func (a *Adapter) handleAside(ctx context.Context, r *arrival) {
	switch u := &r.update; {
	case u.CallbackQuery != nil:
		a.tapped(ctx, r)
	case u.Message != nil:
		a.command(ctx, placeOf(u.Message), r)
	}
	a.handled(ctx, r)
}

// message submits what was said.
func (a *Adapter) message(ctx context.Context, p place, batch []*arrival) {
	m := batch[0].update.Message
	if a.command(ctx, p, batch[0]) {
		return
	}
	if m.Text == "" {
		return
	}
	a.submit(ctx, p, m.ID, core.Submission{
		Channel: p.key(), Adapter: Name, Origin: originOf(m), Content: core.Content{Text: m.Text},
		SourceKey: batch[0].key, CanAsk: true, Deliver: true,
	})
}

// submit submits a message, again and again while it cannot be recorded. A refusal
// is told to the sender.
func (a *Adapter) submit(ctx context.Context, p place, message int, s core.Submission) {
	for {
		t, err := a.o.Core.Submit(ctx, s)
		switch {
		case err == nil:
			a.refer(ctx, p.chat, message, ref{Message: t.Message.ID})
			return
		case ctx.Err() != nil, errors.Is(err, core.ErrClosed):
			return
		case errors.Is(err, core.ErrStorage), errors.Is(err, core.ErrStorageFull):
			a.o.Log.Error("telegram: a message waits to be recorded", "channel", string(s.Channel), "err", err)
			pause(ctx, storagePause)
		default:
			a.say(ctx, "refused:"+s.SourceKey, s.Channel, Note{Text: "This message was not accepted: " + err.Error(), ReplyTo: message})
			return
		}
	}
}

// originOf says who speaks and where, in names.
func originOf(m *models.Message) core.Origin {
	var o core.Origin
	if m.From != nil {
		o.User = m.From.FirstName
		if m.From.LastName != "" {
			o.User += " " + m.From.LastName
		}
	}
	o.Chat = m.Chat.Title
	return o
}
