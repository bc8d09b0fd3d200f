package telegram

import (
	"context"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core/progress"
)

const (
	// statusAfter is how long a turn may take before it gets a status line: a quick
	// answer says it all.
	statusAfter = 2 * time.Second
	// statusEvery and statusEveryGroup are how often a status line changes at most. A
	// group may be sent 20 messages a minute, edits included, and answers come first.
	statusEvery      = 3 * time.Second
	statusEveryGroup = 10 * time.Second
)

// A status is the one message that says what goes on in a conversation. There is one
// for each turn, with a button that stops it.
type status struct {
	adapter *Adapter
	place   chats.Address
	live    *live
	since   time.Time // since when there is something to say
	changed time.Time // when it was changed last
	text    string    // what it says
}

// show says what goes on, for the first time when that has gone on for a while. It
// returns when it is to be called again if nothing happens: what is said changes by
// itself at a time that is given.
func (s *status) show(doc markdown.Document, buttons [][]Button, after time.Duration, changes, now time.Time) time.Time {
	if s.since.IsZero() {
		s.since = now
	}
	every := statusEvery
	if s.place.Group() {
		every = statusEveryGroup
	}
	from := s.changed.Add(every)
	if !s.live.exists() {
		from = later(from, s.since.Add(after))
	}
	if now.Before(from) {
		return from
	}
	if doc.Text != s.text {
		s.text, s.changed = doc.Text, now
		s.live.set(doc, buttons)
	}
	return later(changes, now.Add(every))
}

// fresh returns the message of the next turn.
func (s *status) fresh() *live {
	l, a, p := newLive(s.adapter, s.place, "status"), s.adapter, s.place
	l.onPost(func(id int) {
		a.statusPosted(p.Key(), id)
		a.typing(p) // which a message ends
	})
	return l
}

// finish gives the message its last words, or takes it away where there are none.
// The next turn gets another one.
func (s *status) finish(last markdown.Document) {
	old := s.live
	s.live = s.fresh()
	s.since, s.changed, s.text = time.Time{}, time.Time{}, ""
	s.adapter.work.Go(func(ctx context.Context) {
		if id := old.close(ctx); id != 0 && ctx.Err() == nil {
			s.adapter.statusLeft(ctx, s.place, id, last)
		}
	})
}

// statusDocument is how a status looks: calls of tools, one to a line, and what goes
// on.
func statusDocument(calls []progress.Line, line string) markdown.Document {
	var b markdown.Builder
	for i, l := range calls {
		if i > 0 {
			b.Text("\n")
		}
		b.Text(callMark(l) + l.String())
	}
	if len(calls) > 0 && line != "" {
		b.Text("\n")
	}
	return b.Italic(line).Document()
}

// callMark says how a call stands.
func callMark(l progress.Line) string {
	mark := "▸ "
	switch {
	case l.IsError:
		mark = "✗ "
	case l.Ended:
		mark = "✓ "
	}
	if l.Sub {
		return "↳ " + mark
	}
	return mark
}

// stopButton stops the turn that runs.
func stopButton(v progress.View) [][]Button {
	if v.Phase != progress.Running {
		return nil
	}
	return [][]Button{{{Text: "⏹ Stop", Data: "stop:" + string(v.Turn)}}}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
