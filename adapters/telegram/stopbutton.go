package telegram

import (
	"context"
	"errors"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// stopAnswer is how long whoever stops a turn waits for a word.
const stopAnswer = 700 * time.Millisecond

// stopLate is said to whoever stops a turn that has ended.
const stopLate = "It has ended already."

// tappedStop ends the turn that the button names, and no later one.
func (a *Adapter) tappedStop(ctx context.Context, t tap) string {
	answer := a.stop(ctx, t.place.Key(), core.TurnID(t.arg))
	if answer == stopLate && a.strayStatus(ctx, t) {
		a.leave(ctx, t.place, t.message, markdown.Document{})
	}
	return answer
}

// strayStatus reports whether a button is on a status line that no process knows
// of: one was killed when Telegram had taken it, and before its id was on record.
func (a *Adapter) strayStatus(ctx context.Context, t tap) bool {
	for _, key := range []string{records.LinkKey(t.place.Chat, t.message), leftKey(t.place, t.message)} {
		if _, err := a.o.Core.Record(ctx, Name, key); !errors.Is(err, core.ErrNotFound) {
			return false // a delivery, or about to have its last words
		}
	}
	var shown int
	_, err := a.records.Get(ctx, records.Status+string(t.place.Key()), &shown)
	return err == nil && shown != t.message
}

// stop ends a turn, and says what came of it.
func (a *Adapter) stop(ctx context.Context, key core.ChannelKey, turn core.TurnID) string {
	ctx, cancel := context.WithTimeout(ctx, stopAnswer)
	defer cancel()
	_, err := a.o.Core.Interrupt(ctx, key, turn)
	switch {
	case err == nil:
		return "Stopped."
	case errors.Is(err, core.ErrNothingRuns), errors.Is(err, core.ErrNotFound):
		return stopLate
	case errors.Is(err, core.ErrUnwritten):
		return "Stopped. " + unwrittenText
	case ctx.Err() != nil:
		return "Stopping…" // it is asked for, and only not waited for
	}
	return "Not stopped: " + err.Error()
}

// draftStopped ends the turn whose draft somebody has stopped.
func (a *Adapter) draftStopped(ctx context.Context, s *models.MessageGenerationStopped) {
	if !a.allowed[s.Chat.ID] { // a private chat has the id of its user
		a.health.strangers.Add(1)
		return
	}
	key := chats.Address{Chat: s.Chat.ID, Thread: s.MessageThreadID}.Key()
	turn := a.running(key)
	if turn == "" || draftOf(turn) != s.DraftID {
		return // of a turn that has ended
	}
	a.stop(ctx, key, turn)
}

// running returns the turn of a message of this chat that runs in a conversation;
// empty if none does.
func (a *Adapter) running(key core.ChannelKey) core.TurnID {
	a.followers.mu.Lock()
	f := a.followers.of[key]
	a.followers.mu.Unlock()
	if f == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs
}
