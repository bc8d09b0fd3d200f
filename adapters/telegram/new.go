package telegram

import (
	"context"
	"errors"
	"fmt"

	"bareclaw/core"
)

// cmdNew forgets the conversation. Done twice it does no more: what follows in the
// chat waits for it.
func (a *Adapter) cmdNew(ctx context.Context, c call) Note {
	before, err := a.o.Core.Present(ctx, c.place.key())
	if err != nil {
		return a.failed(ctx, "look at the chat", err)
	}
	switch err := a.o.Core.Reset(ctx, c.place.key()); {
	case errors.Is(err, core.ErrNotFound):
		return Note{Text: "There is nothing to forget: no conversation was begun here yet."}
	case err != nil:
		return a.failed(ctx, "forget the conversation", err)
	}
	text := "Forgotten. Your next message begins a new conversation; the model, mode and rules of this chat stay."
	if before.Turn != "" {
		text += " What was running has been ended."
	}
	if before.Waiting > 0 {
		text += " " + count(before.Waiting, "waiting message was", "waiting messages were") + " cancelled."
	}
	return Note{Text: text}
}

// count says how many.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
