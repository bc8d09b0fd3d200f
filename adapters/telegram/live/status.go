package live

import (
	"context"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
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
	message *editable
	since   time.Time // time of the first status to show
	changed time.Time
	text    string
}

func newStatusMessage(vs *Views, to chats.Address) *statusMessage {
	s := &statusMessage{views: vs, to: to}
	s.message = s.fresh()
	return s
}

func (s *statusMessage) exists() bool { return s.message.exists() }

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
	if !s.exists() {
		from = later(from, s.since.Add(delay))
	}
	if now.Before(from) {
		return from
	}
	if doc.Text != s.text {
		s.text, s.changed = doc.Text, now
		s.message.set(doc, buttons)
	}
	return later(changes, now.Add(every))
}

// fresh returns the message of the next turn.
func (s *statusMessage) fresh() *editable {
	to := s.to // the message stays there when the chat moves
	e := newEditable(s.views, to)
	e.onPost(func(id int) {
		s.views.statusPosted(to.Key(), id)
		s.views.sender.Typing(to) // a message ends the typing action
	})
	return e
}

// finish replaces the message with the final text, or deletes the message if the text is
// empty.
func (s *statusMessage) finish(final markdown.Document) {
	old := s.message
	s.message = s.fresh()
	s.since, s.changed, s.text = time.Time{}, time.Time{}, ""
	s.views.env.Work.Go(func(ctx context.Context) {
		if id := old.close(ctx); id != 0 && ctx.Err() == nil {
			s.views.finalizeStatus(ctx, old.to, id, final)
		}
	})
}

// statusPosted records the status message of a conversation.
func (vs *Views) statusPosted(key core.ChannelKey, id int) {
	vs.statuses.Lock()
	defer vs.statuses.Unlock()
	ctx := vs.env.Work.Context()
	vs.env.Records.Warn(ctx, "a status message is not recorded", vs.env.Records.Put(context.WithoutCancel(ctx), records.Status+string(key), id), "channel", string(key))
}

// finalizeStatus finalizes a status message. The next turn may have a new status message
// already.
func (vs *Views) finalizeStatus(ctx context.Context, to chats.Address, id int, final markdown.Document) {
	vs.statuses.Lock()
	defer vs.statuses.Unlock()
	var shown int
	key := records.Status + string(to.Key())
	if _, err := vs.env.Records.Get(ctx, key, &shown); err != nil || shown != id {
		vs.finalize(ctx, to, id, final)
		return
	}
	vs.finalize(ctx, to, id, final, records.Deletion(key))
}
