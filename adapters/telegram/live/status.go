package live

import (
	"context"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/view"
)

const (
	// statusDelay is the age at which a turn gets a status message: a quick answer needs
	// none.
	statusDelay = 2 * time.Second
	// statusEvery and statusEveryGroup are the shortest time between two edits. A group
	// may get 20 messages a minute, edits included, and answers come first.
	statusEvery      = 3 * time.Second
	statusEveryGroup = 10 * time.Second
)

// A statusMessage shows the activity of a conversation. Each turn has a separate status
// message, with a button to stop the turn.
type statusMessage struct {
	views   *Views
	to      chats.Address
	shown   *editable
	since   time.Time // time of the first status to show
	changed time.Time
}

func newStatusMessage(vs *Views, to chats.Address) *statusMessage {
	s := &statusMessage{views: vs, to: to}
	s.shown = s.fresh()
	return s
}

// show shows a status, the first time after the delay. show returns when to be called
// again. The status next changes by the passage of time at the moment changes.
func (s *statusMessage) show(doc markdown.Document, buttons [][]view.Button, delay time.Duration, changes, now time.Time) time.Time {
	if s.since.IsZero() {
		s.since = now
	}
	every := statusEvery
	if s.to.Group() {
		every = statusEveryGroup
	}
	from := s.changed.Add(every)
	if s.shown.message() == 0 {
		from = later(from, s.since.Add(delay))
	}
	if now.Before(from) {
		return from
	}
	if s.shown.set(doc, buttons) {
		s.changed = now
	}
	return later(changes, now.Add(every))
}

// fresh returns the message of the next turn. The message stays where it is when the chat
// moves.
func (s *statusMessage) fresh() *editable {
	key := s.to.Key()
	return newEditable(s.views, s.to, func(id int) { s.views.statusPosted(key, id) })
}

// finish replaces the message with the final text, or deletes the message if the text is
// empty.
func (s *statusMessage) finish(final markdown.Document) {
	old := s.shown
	s.shown = s.fresh()
	s.since, s.changed = time.Time{}, time.Time{}
	s.views.env.Work.Go(func(ctx context.Context) {
		if id := old.close(ctx); id != 0 && ctx.Err() == nil {
			s.views.finalizeStatus(ctx, old.to, id, final)
		}
	})
}
