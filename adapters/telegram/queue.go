package telegram

import (
	"context"

	"bareclaw/core"
)

// An amender can change what a waiting message says. With core.ErrNotWaiting it
// returns the message as it is.
type amender interface {
	Amend(ctx context.Context, id core.MessageID, c core.Content) (core.Message, error)
}

// A mover can give a channel another key, with its session and all that waits.
type mover interface {
	Move(ctx context.Context, from, to core.ChannelKey) error
}

func (a *Adapter) amendMessage(ctx context.Context, id core.MessageID, c core.Content) (core.Message, error) {
	if q, ok := any(a.o.Core).(amender); ok {
		return q.Amend(ctx, id, c)
	}
	m, err := a.o.Core.Message(ctx, id)
	if err == nil {
		err = core.ErrNotWaiting
	}
	return m, err
}

func (a *Adapter) moveChannel(ctx context.Context, from, to core.ChannelKey) error {
	if q, ok := any(a.o.Core).(mover); ok {
		return q.Move(ctx, from, to)
	}
	return nil
}
