package commands

import (
	"context"
	"errors"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"
	"bareclaw/core/commands"
)

// retry runs a failed message again, once. A tap interrupted by a crash is handled again, and
// finds the message accepted.
func (o *Options) retry(ctx context.Context, t chats.Tap) string {
	s, m, err := o.Decider.Resubmission(ctx, core.MessageID(t.Arg))
	switch {
	case errors.Is(err, core.ErrNotFailed):
		return "This message is " + string(m.State) + "."
	case errors.Is(err, core.ErrNotFound):
		return "This message is no longer known."
	case err != nil:
		return o.failed(ctx, commands.Failed("run the message again", err))
	}
	o.Live.Follow(s.Channel)
	ticket, err := o.Lanes.Submit(ctx, s)
	switch {
	case err != nil:
		return o.failed(ctx, commands.Failed("run the message again", err))
	case ticket.Existing:
		return "This message is being run again already."
	}
	return "The message is run again."
}

// renew forgets the conversation that refused a message, unless the chat has another one by now.
func (o *Options) renew(ctx context.Context, t chats.Tap) string {
	m, err := o.Messages.Message(ctx, core.MessageID(t.Arg))
	if err != nil {
		return chats.ButtonGone
	}
	st, err := o.Channels.Present(ctx, m.Channel)
	if err != nil {
		return o.failed(ctx, commands.Failed("forget the conversation", err))
	}
	refused := m.Reply.SessionID
	if st.SessionID == "" || st.SessionID != refused {
		return "This conversation has ended already. Your next message goes to the present one."
	}
	err = o.Lanes.Reset(ctx, m.Channel)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return o.failed(ctx, commands.Failed("forget the conversation", err))
	}
	return "Forgotten. Your next message begins a new conversation."
}
