package live

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/adapters/telegram/view"
)

// An editable is a message edited as often as the rate limits allow. Intermediate
// contents are skipped. Its methods are safe for concurrent use.
type editable struct {
	sender *outbox.Sender
	to     chats.Address
	name   string // of the editable's jobs

	mu      sync.Mutex   // guards the fields below
	id      int          // of the message; 0: not posted yet
	want    *outbox.Text // content to be shown
	shown   *outbox.Text // displayed content
	replyTo int
	closed  bool         // no longer edited
	posted  func(id int) // called when the message is posted
}

func newEditable(s *outbox.Sender, to chats.Address, kind string) *editable {
	return &editable{sender: s, to: to, name: kind + ":" + string(to.Key())}
}

// onPost sets the function called when the message is posted.
func (e *editable) onPost(f func(id int)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.posted = f
}

// answers makes the message a reply to the given message.
func (e *editable) answers(message int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.replyTo = message
}

// set posts or edits the message.
func (e *editable) set(doc markdown.Document, buttons [][]view.Button) {
	if !e.request(doc, buttons) {
		return
	}
	e.sender.Post(throttle.Job{
		Chat: e.to.Chat, Group: e.to.Group(), Lane: e.to.Thread, Class: throttle.Progress, Key: e.name, Do: e.update, Done: e.updated,
	})
}

// request sets the content to be displayed, and returns false if nothing is left to do.
func (e *editable) request(doc markdown.Document, buttons [][]view.Button) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	want := &outbox.Text{Document: doc, Buttons: buttons, ReplyTo: e.replyTo}
	if e.closed || reflect.DeepEqual(e.want, want) {
		return false
	}
	e.want = want
	return true
}

// updated lets a failed update be repeated with the next content.
func (e *editable) updated(err error) {
	if err == nil || errors.Is(err, throttle.ErrReplaced) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.want = e.shown
}

func (e *editable) update(ctx context.Context, _ throttle.Try) error {
	e.mu.Lock()
	id, want, closed := e.id, e.want, e.closed
	e.mu.Unlock()
	if closed || want == nil {
		return nil
	}
	return e.sender.Call(ctx, func(ctx context.Context) error {
		if id != 0 {
			want = &outbox.Text{Document: want.Document, Buttons: want.Buttons, Replace: id}
		}
		now, err := want.Send(ctx, e.sender.Client, e.to)
		if err != nil {
			return err
		}
		e.mu.Lock()
		e.id, e.shown = now, want
		posted := e.posted
		e.mu.Unlock()
		if now != id && posted != nil {
			posted(now)
		}
		return nil
	})
}

// close stops the editing and returns the message; 0: no message. close blocks while an
// edit is in flight.
func (e *editable) close(ctx context.Context) int {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.sender.Cancel(ctx, e.to.Chat, e.name)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id
}

func (e *editable) exists() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id != 0
}
