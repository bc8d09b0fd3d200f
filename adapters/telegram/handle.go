package telegram

import (
	"context"
	"errors"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// handle makes of arrivals of one conversation what there is to be made: one, or
// the messages of an album.
func (a *Adapter) handle(ctx context.Context, p chats.Address, batch []*arrival) {
	err := a.make(ctx, p, batch)
	for tasks.IsStorage(err) && ctx.Err() == nil {
		a.o.Log.Error("telegram: an update waits for the ledger", "update", batch[0].key, "channel", string(p.Key()), "err", err)
		tasks.Pause(ctx, tasks.StoragePause)
		err = a.make(ctx, p, batch)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil: // it is handled once more after the next start
		a.o.Log.Error("telegram: an update is not handled", "update", batch[0].key, "channel", string(p.Key()), "err", err)
	default:
		a.handled(ctx, batch...)
	}
}

// make makes of arrivals what there is to be made. It may be called again.
func (a *Adapter) make(ctx context.Context, p chats.Address, batch []*arrival) error {
	switch u := &batch[0].update; {
	case u.Message != nil:
		return a.message(ctx, p, batch)
	case u.EditedMessage != nil && a.listensTo(u.EditedMessage):
		return a.edited(ctx, p, batch[0])
	}
	return nil
}

// listensTo reports whether a message is from somebody who is listened to, as far as
// that is known now: it may have been received when others were.
func (a *Adapter) listensTo(m *models.Message) bool {
	return m.From != nil && m.SenderChat == nil && a.allowed[m.From.ID]
}

// handleAside handles what waits for nothing else of its conversation.
func (a *Adapter) handleAside(ctx context.Context, r *arrival) {
	switch u := &r.update; {
	case u.CallbackQuery != nil:
		a.tapped(ctx, r)
	case u.Message != nil && a.listensTo(u.Message):
		a.command(ctx, a.movedTo(chats.AddressOf(u.Message)), r)
	case u.StoppedMessageGeneration != nil:
		a.draftStopped(ctx, u.StoppedMessageGeneration)
	}
	if ctx.Err() == nil { // what was cut short is done by the next process
		a.handled(ctx, r)
	}
}

// submit submits a message. A refusal is told to the sender.
func (a *Adapter) submit(ctx context.Context, p chats.Address, message int, s core.Submission) error {
	t, err := a.offer(ctx, s)
	if err != nil {
		return a.refused(ctx, p, message, s, err)
	}
	a.records.LinkSource(ctx, p.Chat, message, t.Message.ID)
	return ctx.Err()
}

// offer submits a message, again and again while it cannot be recorded.
func (a *Adapter) offer(ctx context.Context, s core.Submission) (*core.Ticket, error) {
	p, ok := chats.ParseAddress(s.Channel)
	for {
		if ok {
			a.follow(p) // which is over after a while in which nothing is accepted
		}
		t, err := a.o.Core.Submit(ctx, s)
		if !tasks.IsStorage(err) || ctx.Err() != nil {
			return t, err
		}
		a.o.Log.Error("telegram: a message waits to be recorded", "channel", string(s.Channel), "err", err)
		tasks.Pause(ctx, tasks.StoragePause)
	}
}

// refused tells the sender that a message was not accepted, and why. A gateway that
// is ending refuses nothing: what it has received is the next one's.
func (a *Adapter) refused(ctx context.Context, p chats.Address, message int, s core.Submission, why error) error {
	if ctx.Err() != nil || errors.Is(why, core.ErrClosed) {
		return why
	}
	text := "This message was not accepted: " + why.Error()
	if errors.Is(why, core.ErrQueueFull) {
		text = "This message was not accepted: too many wait here already. Send it again when some of them are answered."
	}
	a.say(ctx, "refused:"+s.SourceKey, p.Key(), Note{Text: text, ReplyTo: message})
	return ctx.Err()
}
