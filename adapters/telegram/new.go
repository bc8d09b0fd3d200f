package telegram

import (
	"context"
	"errors"
	"fmt"

	"bareclaw/core"
)

// cmdNew forgets the conversation. Done twice it does no more: what follows in the
// chat waits for it. Each message that it ends has an outcome of its own, which says so.
func (a *Adapter) cmdNew(ctx context.Context, c call) Note {
	switch err := a.o.Core.Reset(ctx, c.place.Key()); {
	case errors.Is(err, core.ErrNotFound):
		return Note{Text: "There is nothing to forget: no conversation was begun here yet."}
	case err != nil:
		return a.failed(ctx, "forget the conversation", err)
	}
	return Note{Text: "Forgotten. Your next message begins a new conversation; the model, mode and rules of this chat stay."}
}

// count says how many.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
