package telegram

import (
	"context"
	"time"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/progress"
	"bareclaw/core"
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

// A status is the one line that says what goes on in a conversation. There is one
// for each turn, with a button that stops it.
type status struct {
	adapter *Adapter
	place   place
	live    *live
	since   time.Time // since when there is something to say
	changed time.Time // when it was changed last
	line    string    // what it says
}

// A shownRecord is what must be known to go on with what is shown after a restart.
type shownRecord struct {
	Status int `json:"status,omitempty"` // message ids of the chat
	Stream int `json:"stream,omitempty"`
	// StreamName is the text that Stream shows, see progress.View.
	StreamName string `json:"stream_name,omitempty"`
}

// show says what goes on, and returns when that is to be looked at again.
func (s *status) show(v progress.View, drafts bool, now time.Time) time.Time {
	line := v.Status(now)
	if line == "" || v.Phase == progress.Ended || drafts && v.Text != "" && v.Tools == 0 && !s.live.exists() { // the draft says it all
		return time.Time{}
	}
	if s.since.IsZero() {
		s.since = now
	}
	every := statusEvery
	if s.place.group() {
		every = statusEveryGroup
	}
	from := s.changed.Add(every)
	if !s.live.exists() {
		from = later(from, s.since.Add(statusAfter))
	}
	if now.Before(from) {
		return from
	}
	if line != s.line {
		s.line, s.changed = line, now
		s.live.set(statusDocument(line), stopButton(v))
	}
	return later(v.NextChange(now), now.Add(every))
}

// fresh returns the line of the next turn.
func (s *status) fresh() *live {
	l, a, key := newLive(s.adapter, s.place, "status"), s.adapter, s.place.key()
	l.onPost(func(id int) { a.changeShown(a.ctx, key, func(r *shownRecord) { r.Status = id }) })
	return l
}

// statusDocument is how a status line looks.
func statusDocument(line string) markdown.Document {
	return new(markdown.Builder).Italic(line).Document()
}

// stopButton stops the turn that runs.
func stopButton(v progress.View) [][]Button {
	if v.Phase != progress.Running {
		return nil
	}
	return [][]Button{{{Text: "⏹ Stop", Data: "stop:" + string(v.Turn)}}}
}

// finish gives the line its last words, or takes it away where there are none. The
// next turn gets another one.
func (s *status) finish(summary string) {
	old := s.live
	s.live = s.fresh()
	s.since, s.changed, s.line = time.Time{}, time.Time{}, ""
	s.adapter.start(func(ctx context.Context) {
		id := old.close(ctx)
		if id == 0 || ctx.Err() != nil {
			return
		}
		s.adapter.forgetStatus(ctx, s.place.key(), id)
		if summary == "" {
			s.adapter.remove(s.place, id)
			return
		}
		last := newLive(s.adapter, s.place, "summary")
		last.id = id
		last.set(statusDocument(summary), nil)
	})
}

// forgetStatus forgets the status line of a turn that has ended.
func (a *Adapter) forgetStatus(ctx context.Context, key core.ChannelKey, id int) {
	a.changeShown(ctx, key, func(r *shownRecord) {
		if r.Status == id {
			r.Status = 0
		}
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
