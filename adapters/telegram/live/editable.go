package live

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
)

type shownRecord struct {
	Name    string `json:"name,omitempty"`    // of the displayed text, see [progress.View]; empty: a status
	Summary string `json:"summary,omitempty"` // of a status: the final text as Markdown, once the turn has ended
	Chat    int64  `json:"chat,omitempty"`    // of the message; a channel may lead to another chat later
}

func shownKey(key core.ChannelKey, id int) string {
	return records.RecordShown + string(key) + ":" + strconv.Itoa(id)
}

// An editable is a message edited as often as the rate limits allow: while an edit waits,
// newer content replaces the content. Its methods are safe for concurrent use.
type editable struct {
	views   *Views
	to      chats.Address
	name    string // of the displayed text; empty: a status
	replyTo int    // answered message, used by set alone

	mu      sync.Mutex   // guards the fields below
	id      int          // of the message; 0: not posted yet
	want    *outbox.Text // last content; nil: none, or the last edit failed
	busy    bool         // updates runs
	closed  bool         // no longer edited
	updates *base.Task   // shows want
}

// set posts or edits the message, and returns false if the content is unchanged.
func (e *editable) set(doc markdown.Document, buttons [][]view.Button) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	want := &outbox.Text{Document: doc, Buttons: buttons, ReplyTo: e.replyTo}
	if e.closed || reflect.DeepEqual(e.want, want) {
		return false
	}
	if e.want = want; !e.busy {
		e.busy, e.updates = true, e.views.env.Work.Start(e.update)
	}
	return true
}

// update shows the wanted content, until no newer content is wanted. After a failure the
// next content is shown.
func (e *editable) update(ctx context.Context) {
	for again := true; again; {
		var tried *outbox.Text
		err := e.views.sender.Send(ctx, e.to, throttle.Progress, func(ctx context.Context) (err error) {
			tried, err = e.show(ctx)
			return err
		})
		e.mu.Lock()
		if err != nil && (tried == nil || e.want == tried) {
			e.want = nil
		}
		e.busy = e.want != nil && e.want != tried && !e.closed
		again = e.busy
		e.mu.Unlock()
	}
}

func (e *editable) show(ctx context.Context) (*outbox.Text, error) {
	e.mu.Lock()
	id, want, closed := e.id, e.want, e.closed
	e.mu.Unlock()
	if closed {
		return want, nil
	}
	text := *want
	text.Replace = id
	now, err := text.Send(ctx, e.views.sender.Client, e.to)
	if err != nil || now == id {
		return want, err
	}
	e.mu.Lock()
	e.id = now
	e.mu.Unlock()
	work := e.views.env.Work.Context()
	e.views.env.Records.Keep(work, "a message that changes", shownKey(e.to.Key(), now), shownRecord{Name: e.name, Chat: e.to.Chat})
	e.views.sender.Typing(e.to) // a message ends the typing action
	return want, nil
}

// close stops the editing and returns the message; 0: no message. close blocks while an
// edit is in flight.
func (e *editable) close(ctx context.Context) int {
	e.mu.Lock()
	e.closed = true
	updates := e.updates
	e.mu.Unlock()
	updates.Cancel(ctx)
	return e.message()
}

func (e *editable) message() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id
}

func finalID(to chats.Address, id int) string { return fmt.Sprintf("final:%d:%d", to.Chat, id) }

// finalize replaces a message with the final text in Markdown, or deletes the message if the
// text is empty, after the deliveries recorded before. The record of the message goes.
func (vs *Views) finalize(ctx context.Context, to chats.Address, id int, final string) {
	edit := outbox.Edit{Message: id, Chat: to.Chat, Remove: final == "", Note: view.Note{Text: final}}
	vs.out.Edit(ctx, finalID(to, id), to.Key(), edit, records.Entry{Key: shownKey(to.Key(), id)})
}

// DeleteStray deletes a status message unknown to every process: a process was killed
// after Telegram accepted the message and before the id was recorded.
func (vs *Views) DeleteStray(ctx context.Context, to chats.Address, message int) {
	for _, key := range []string{records.LinkKey(to.Chat, message), shownKey(to.Key(), message)} {
		var known json.RawMessage
		if found, err := vs.env.Records.Get(ctx, key, &known); found || err != nil {
			return // part of a delivery, or still changing
		}
	}
	if !vs.out.Recorded(ctx, finalID(to, message)) {
		vs.finalize(ctx, to, message, "")
	}
}
