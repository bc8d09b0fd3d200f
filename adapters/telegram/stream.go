package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"
	"bareclaw/core/progress"

	"github.com/go-telegram/bot"
)

const (
	// draftEvery is how often a draft changes at most; draftAgain is when one that does
	// not change is shown again: it is gone after 30 s,
	// https://core.telegram.org/bots/api#sendmessagedraft
	draftEvery = time.Second
	// streamFrom is how long a text must have been written: one that is whole before
	// that is its own message at once.
	streamFrom = 500 * time.Millisecond
	draftAgain = 20 * time.Second
	// streamEvery and streamEveryGroup are how often a message is edited at most while
	// its text is written; streamAfter is how much there is of it at first, in bytes.
	streamEvery      = 2 * time.Second
	streamEveryGroup = 6 * time.Second
	streamAfter      = 80
)

// A stream shows a text as it is written: in a private chat as a draft, elsewhere in
// a message that becomes the one which the text is delivered in.
type stream struct {
	adapter *Adapter
	place   chats.Address
	live    *live
	name    string                // of the text, see progress.View
	began   time.Time             // when it was seen first
	changed time.Time             // when something was shown last
	bytes   int                   // how much of the text that was
	newest  func() core.MessageID // the message that is answered
}

// show shows what is written, and returns when that is to be looked at again.
func (s *stream) show(ctx context.Context, v progress.View, now time.Time) time.Time {
	if v.Stream == "" || v.Text == "" || v.Whole {
		return time.Time{}
	}
	if v.Stream != s.name {
		s.drop(ctx)
		s.began = now
		s.call(v.Stream)
	}
	draft := s.drafts()
	every := streamEvery
	switch {
	case draft:
		every = draftEvery
	case s.place.Group():
		every = streamEveryGroup
	}
	again := draft && now.Sub(s.changed) >= draftAgain
	if len(v.Text) == s.bytes && !again {
		return time.Time{}
	}
	if from := later(s.changed.Add(every), s.began.Add(streamFrom)); now.Before(from) {
		return from
	}
	if !draft && len(v.Text) < streamAfter {
		return now.Add(every)
	}
	s.changed, s.bytes = now, len(v.Text)
	chunks := markdown.RenderPartial(v.Text).Split(maxText)
	if len(chunks) == 0 {
		return now.Add(every)
	}
	if draft {
		s.draft(v.Turn, chunks[len(chunks)-1])
		return now.Add(draftAgain)
	}
	if s.place.Group() && !s.live.exists() {
		s.live.answer(s.adapter.records.SourceOf(ctx, s.newest()))
	}
	s.live.set(chunks[0], nil)
	return now.Add(every)
}

// draft shows the end of what is written, with Telegram's own button to stop it.
func (s *stream) draft(turn core.TurnID, doc markdown.Document) {
	a, p := s.adapter, s.place
	a.post(throttle.Job{
		Chat: p.Chat, Lane: p.Thread, Class: throttle.Hint, Key: "draft:" + string(p.Key()),
		Do: func(ctx context.Context, _ throttle.Try) error {
			return a.call(ctx, func(ctx context.Context) error {
				_, err := a.client.SendMessageDraft(ctx, &bot.SendMessageDraftParams{
					ChatID: p.Chat, MessageThreadID: p.Thread, DraftID: strconv.Itoa(draftOf(turn)),
					Text: doc.Text, Entities: doc.Entities, CanStop: true,
				})
				if botapi.Refused(err, "draft") || errors.Is(err, bot.ErrorNotFound) { // by a Bot API server of an earlier version
					a.noDrafts.Store(true)
				}
				return err
			})
		},
	})
}

// draftOf is the id of the draft in which a turn's text is shown. It must not be 0.
func draftOf(turn core.TurnID) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(turn))
	return max(1, int(h.Sum32()&math.MaxInt32))
}

// take ends the showing of a text, or of whatever is shown if there is no name, and
// returns the message that it was shown in, 0 if there is none, and what is to be
// written together with what becomes of that message: else it might stay for ever as
// it is, or be taken for one that shows something still.
func (s *stream) take(ctx context.Context, name string) (id int, forget []*core.Record) {
	if name != "" && name != s.name {
		return 0, nil
	}
	id = s.live.close(ctx)
	_ = s.adapter.sends.Cancel(ctx, s.place.Chat, "draft:"+string(s.place.Key())) // it would come after the message; only if ctx ends
	s.live = newLive(s.adapter, s.place, "stream")
	s.name, s.bytes = "", 0
	if id != 0 {
		forget = []*core.Record{records.Deletion(records.Stream + string(s.place.Key()))}
	}
	return id, forget
}

// call gives the text a name: what is shown from now on is that.
func (s *stream) call(name string) {
	s.name = name
	a, p := s.adapter, s.place
	s.live.onPost(func(id int) {
		if err := a.records.Put(context.WithoutCancel(a.work.Context()), records.Stream+string(p.Key()), streamRecord{Message: id, Name: name}); err != nil && a.work.Context().Err() == nil {
			a.o.Log.Warn("telegram: not remembered what is shown", "channel", string(p.Key()), "err", err)
		}
		a.typing(p) // which a message ends
	})
}

// drafts reports whether texts are shown as drafts: private chats only,
// https://core.telegram.org/bots/api#sendmessagedraft
func (s *stream) drafts() bool { return !s.place.Group() && !s.adapter.noDrafts.Load() }

// drop takes away a text that is not delivered, such as one that was begun anew.
func (s *stream) drop(ctx context.Context) {
	if id, forget := s.take(ctx, ""); id != 0 && ctx.Err() == nil {
		s.adapter.leave(ctx, s.place, id, markdown.Document{}, forget...)
	}
}

// adoptedBy ends the showing of a text because the delivery has it, or something in
// its place.
func (s *stream) adoptedBy(ctx context.Context, delivery string) {
	id, written := s.take(ctx, "")
	if id == 0 {
		return
	}
	written = append(written, &core.Record{Owner: Name, Key: records.Adopted + delivery, Doc: json.RawMessage(strconv.Itoa(id))})
	if err := s.adapter.records.Write(ctx, written...); err != nil && ctx.Err() == nil {
		s.adapter.o.Log.Warn("telegram: an answer comes in a message of its own", "delivery", delivery, "err", err)
	}
}

// adopted returns the message that a delivery's first part becomes; 0 for a new one.
func (a *Adapter) adopted(ctx context.Context, delivery string) (id int, err error) {
	_, err = a.records.Get(ctx, records.Adopted+delivery, &id)
	return id, err
}
