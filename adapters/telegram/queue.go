package telegram

import (
	"context"

	"bareclaw/core"
)

// A mover can give a channel another key, with its session and all that waits.
type mover interface {
	Move(ctx context.Context, from, to core.ChannelKey) error
}

func (a *Adapter) moveChannel(ctx context.Context, from, to core.ChannelKey) error {
	if q, ok := any(a.o.Core).(mover); ok {
		return q.Move(ctx, from, to)
	}
	return nil
}
