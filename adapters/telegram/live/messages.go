package live

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/internal/wait"

	"github.com/go-telegram/bot"
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

// showStatus shows the activity in the status message, with a button to stop the turn.
// showStatus returns when to look again.
func (v *View) showStatus(state progress.View, now time.Time) time.Time {
	line, posted := state.Status(now), v.status.message() != 0
	drafted := v.text.drafts() && state.Turn == v.turn && state.Text != "" && state.Tools == 0 && !posted
	if line == "" || state.Phase == progress.Ended || drafted { // a draft shows enough
		return time.Time{}
	}
	if n := v.position(); state.Phase == progress.Running && state.Turn != v.turn && n > 0 {
		line = fmt.Sprintf("Your message is number %d in the queue · %s", n, line)
	}
	if v.statusSince.IsZero() {
		v.statusSince = now
	}
	calls, every := v.calls(), statusEvery
	if v.to.Group() {
		every = statusEveryGroup
	}
	from := v.statusChanged.Add(every)
	if !posted && len(calls) == 0 { // whoever wants each call wants the first at once
		from = wait.Latest(from, v.statusSince.Add(statusDelay))
	}
	if now.Before(from) {
		return from
	}
	if v.status.set(markdown.Render(view.Status(calls, line)), view.StopButton(state)) {
		v.statusChanged = now
	}
	return wait.Latest(state.NextChange(now), now.Add(every))
}

// endStatus replaces the status message of a turn with the final text in Markdown, or deletes
// the message if the text is empty, after finalizeEnded. The next turn gets another message.
func (v *View) endStatus(ctx context.Context, final string) {
	old := v.status
	v.status, v.statusSince, v.statusChanged = v.editable(""), time.Time{}, time.Time{}
	if id := old.message(); id != 0 && final != "" { // for the next process, if this one is killed meanwhile
		v.env.Records.Keep(ctx, "the summary of a turn", shownKey(old.to.Key(), id), shownRecord{Summary: final, Chat: old.to.Chat})
	}
	v.ended = append(v.ended, func(ctx context.Context) {
		if id := old.close(ctx); id != 0 && ctx.Err() == nil {
			v.finalize(ctx, old.to, id, final)
		}
	})
}

// finalizeEnded finalizes the status messages of ended turns: answers come first.
func (v *View) finalizeEnded() {
	for _, finalize := range v.ended {
		v.env.Work.Go(finalize)
	}
	v.ended = nil
}

func (v *View) position() int {
	first := 0
	for id := range v.open {
		if n := v.fold.Position(id); n > 0 && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}

const (
	// draftEvery is the shortest time between two changes of a draft, and draftRefresh
	// the time after which an unchanged draft is sent again: a draft disappears after
	// 30 s, https://core.telegram.org/bots/api#sendmessagedraft
	draftEvery   = time.Second
	draftRefresh = 20 * time.Second
	// textDelay is the minimum age of a text before display: a text completed earlier is
	// delivered at once.
	textDelay = 500 * time.Millisecond
	// textEvery and textEveryGroup are the shortest time between two edits of a message;
	// minText is the size of the message's first content, in bytes.
	textEvery      = 2 * time.Second
	textEveryGroup = 6 * time.Second
	minText        = 80
)

// A textMessage displays an unfinished text: in a private chat as a draft, elsewhere in
// a message that later becomes the delivered message.
type textMessage struct {
	*View
	shown    *editable
	drafting *base.Task // sends a draft
	began    time.Time  // when the text was seen first
	changed  time.Time  // time of the last change
	bytes    int        // how much of the text was shown
}

// show displays the unfinished text, and returns when to call show again.
func (t *textMessage) show(ctx context.Context, v progress.View, now time.Time) time.Time {
	if v.Stream == "" || v.Text == "" || v.Whole {
		return time.Time{}
	}
	if v.Stream != t.shown.name {
		t.discard(ctx)
		t.began, t.shown = now, t.editable(v.Stream)
	}
	draft, every := t.drafts(), t.every()
	if len(v.Text) == t.bytes && (!draft || now.Sub(t.changed) < draftRefresh) {
		return time.Time{}
	}
	if from := wait.Latest(t.changed.Add(every), t.began.Add(textDelay)); now.Before(from) {
		return from
	}
	if !draft && len(v.Text) < minText {
		return now.Add(every)
	}
	t.changed, t.bytes = now, len(v.Text)
	chunks := markdown.RenderPartial(v.Text).Split(markdown.MaxUnits)
	switch {
	case len(chunks) == 0:
	case draft:
		t.draft(v.Turn, chunks[len(chunks)-1])
		return now.Add(draftRefresh)
	default:
		if t.to.Group() && t.shown.message() == 0 {
			t.shown.replyTo = t.env.Records.SourceOf(ctx, t.newest())
		}
		t.shown.set(chunks[0], nil)
	}
	return now.Add(every)
}

func (t *textMessage) every() time.Duration {
	switch {
	case t.drafts():
		return draftEvery
	case t.to.Group():
		return textEveryGroup
	}
	return textEvery
}

// draft shows the end of a text as a draft, with Telegram's own stop button. While a draft
// is in flight, draft does nothing.
func (t *textMessage) draft(turn core.TurnID, doc markdown.Document) {
	if t.drafting.Running() {
		return
	}
	to := t.to
	t.drafting = t.env.Work.Start(func(ctx context.Context) {
		err := t.sender.Send(ctx, to, throttle.Hint, func(ctx context.Context) error {
			_, err := t.sender.Client.SendMessageDraft(ctx, &bot.SendMessageDraftParams{
				ChatID:          to.Chat,
				MessageThreadID: to.Thread,
				DraftID:         strconv.Itoa(DraftOf(turn)),
				Text:            doc.Text,
				Entities:        doc.Entities,
				CanStop:         true,
			})
			return err
		})
		if botapi.Refused(err, "draft") || errors.Is(err, bot.ErrorNotFound) { // an older Bot API server
			t.noDrafts.Store(true)
		}
	})
}

// DraftOf returns the id of the draft for a turn's text, which is never 0.
func DraftOf(turn core.TurnID) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(turn))
	return max(1, int(h.Sum32()&math.MaxInt32))
}

// drafts reports whether texts are displayed as drafts: only private chats have drafts,
// https://core.telegram.org/bots/api#sendmessagedraft
func (t *textMessage) drafts() bool { return !t.to.Group() && !t.noDrafts.Load() }

// take stops displaying the named text, or any text if the name is empty, and returns the
// message; 0: none.
func (t *textMessage) take(ctx context.Context, name string) int {
	if name != "" && name != t.shown.name {
		return 0
	}
	id := t.shown.close(ctx)
	t.drafting.Cancel(ctx) // a draft must not follow the message
	t.shown, t.bytes = t.editable(""), 0
	return id
}

// discard deletes the message of an undelivered text, for example when Claude restarts
// the text.
func (t *textMessage) discard(ctx context.Context) {
	to := t.shown.to
	if id := t.take(ctx, ""); id != 0 && ctx.Err() == nil {
		t.finalize(ctx, to, id, "")
	}
}

// becomes makes the message the first part of a delivery.
func (t *textMessage) becomes(ctx context.Context, delivery string) {
	id := t.take(ctx, "")
	if id == 0 {
		return
	}
	err := t.env.Records.Write(ctx, records.Entry{Key: shownKey(t.key, id)}, records.Entry{Key: records.RecordAdopted + delivery, Value: id})
	t.env.Records.Warn(ctx, "an answer will be sent as a new message", err, "delivery", delivery)
}
