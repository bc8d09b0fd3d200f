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

	mu       sync.Mutex   // guards the fields below
	id       int          // of the message; 0: not posted yet
	want     *outbox.Text // content to be shown
	shown    *outbox.Text // displayed content
	replyTo  int
	closed   bool // no longer edited
	updating bool // updates is about to show want
	updates  *tasks.Task
	posted   func(id int) // called when the message is posted; nil: nothing
}

func newEditable(vs *Views, to chats.Address) *editable {
	return &editable{sender: vs.sender, work: vs.env.Work, to: to}
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

// set posts or edits the message, and returns false if the content is unchanged.
func (e *editable) set(doc markdown.Document, buttons [][]view.Button) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	want := &outbox.Text{Document: doc, Buttons: buttons, ReplyTo: e.replyTo}
	if e.closed || reflect.DeepEqual(e.want, want) {
		return false
	}
	e.want = want
	if !e.updating {
		e.updating, e.updates = true, e.work.Start(e.update)
	}
	return true
}

// update shows the wanted content, until no newer content is wanted.
func (e *editable) update(ctx context.Context) {
	for again := true; again; {
		var tried *outbox.Text
		err := e.sender.Send(ctx, e.to, throttle.Progress, func(ctx context.Context) (err error) {
			tried, err = e.show(ctx)
			return err
		})
		again = e.updated(tried, err)
	}
}

// show posts or edits the message once, and returns the content.
func (e *editable) show(ctx context.Context) (*outbox.Text, error) {
	e.mu.Lock()
	id, want, closed, posted := e.id, e.want, e.closed, e.posted
	e.mu.Unlock()
	if closed {
		return want, nil
	}
	text := *want
	text.Replace = id
	now, err := text.Send(ctx, e.sender.Client, e.to)
	if err != nil {
		return want, err
	}
	e.mu.Lock()
	e.id, e.shown = now, want
	e.mu.Unlock()
	if now != id && posted != nil {
		posted(now)
		e.sender.Typing(e.to) // a message ends the typing action
	}
	return want, nil
}

// updated reports whether newer content is wanted. A failed update is repeated with the
// next content.
func (e *editable) updated(tried *outbox.Text, err error) (again bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if tried == nil || err != nil && e.want == tried {
		e.want = e.shown
	}
	e.updating = e.want != e.shown && !e.closed
	return e.updating
}

// close stops the editing and returns the message; 0: no message. close blocks while an
// edit is in flight.
func (e *editable) close(ctx context.Context) int {
	e.mu.Lock()
	e.closed = true
	updates := e.updates
	e.mu.Unlock()
	updates.Cancel(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id
}

func (e *editable) exists() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id != 0
}
