package live

import (
	"context"
	"reflect"
	"sync"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/adapters/telegram/view"
)

// An editable is a message edited as often as the rate limits allow: while an edit waits,
// newer content replaces the content. Its methods are safe for concurrent use.
type editable struct {
	sender *outbox.Sender
	work   *tasks.Group
	to     chats.Address
	posted func(id int) // called when the message is posted; nil: nothing

	replyTo int // answered message, used by set alone

	mu      sync.Mutex   // guards the fields below
	id      int          // of the message; 0: not posted yet
	want    *outbox.Text // last content; nil: none, or the last edit failed
	next    *outbox.Text // content to be shown by updates; nil: want is shown
	closed  bool         // no longer edited
	updates *tasks.Task  // shows next, until there is none
}

func newEditable(vs *Views, to chats.Address, posted func(id int)) *editable {
	return &editable{sender: vs.sender, work: vs.env.Work, to: to, posted: posted}
}

// set posts or edits the message, and returns false if the content is unchanged.
func (e *editable) set(doc markdown.Document, buttons [][]view.Button) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	want := &outbox.Text{Document: doc, Buttons: buttons, ReplyTo: e.replyTo}
	if e.closed || reflect.DeepEqual(e.want, want) {
		return false
	}
	idle := e.next == nil
	if e.want, e.next = want, want; idle {
		e.updates = e.work.Start(e.update)
	}
	return true
}

// update shows the wanted content, until no newer content is wanted. After a failure the
// next content is shown.
func (e *editable) update(ctx context.Context) {
	for again := true; again; {
		var tried *outbox.Text
		err := e.sender.Send(ctx, e.to, throttle.Progress, func(ctx context.Context) (err error) {
			tried, err = e.show(ctx)
			return err
		})
		e.mu.Lock()
		if err != nil && (tried == nil || e.want == tried) {
			e.want, e.next = nil, nil
		} else if e.next == tried || e.closed {
			e.next = nil
		}
		again = e.next != nil
		e.mu.Unlock()
	}
}

// show posts or edits the message once, and returns the content.
func (e *editable) show(ctx context.Context) (*outbox.Text, error) {
	e.mu.Lock()
	id, next, closed := e.id, e.next, e.closed
	e.mu.Unlock()
	if closed {
		return next, nil
	}
	text := *next
	text.Replace = id
	now, err := text.Send(ctx, e.sender.Client, e.to)
	if err != nil {
		return next, err
	}
	e.mu.Lock()
	e.id = now
	e.mu.Unlock()
	if now != id && e.posted != nil {
		e.posted(now)
		e.sender.Typing(e.to) // a message ends the typing action
	}
	return next, nil
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

// message returns the id of the message; 0: not posted yet.
func (e *editable) message() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id
}
