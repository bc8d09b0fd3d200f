package telegram

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// A live is a message whose text changes with what it shows. It is shown as often as
// the schedule allows, and skipped when nothing is new. Its methods are safe for
// concurrent use.
type live struct {
	adapter *Adapter
	place   chats.Address
	name    string // of its jobs in the schedule

	mu      sync.Mutex   // guards the fields below
	id      int          // of the message; 0: there is none yet
	want    *textPart    // what it is to show
	shown   *textPart    // what it shows
	answers int          // the message that it is a reply to; 0 for none
	closed  bool         // it is not changed any more
	posted  func(id int) // told of the message's id once it is made
}

func newLive(a *Adapter, p chats.Address, name string) *live {
	return &live{adapter: a, place: p, name: name + ":" + string(p.Key())}
}

// onPost has f be told of the message's id once it is made.
func (l *live) onPost(f func(id int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posted = f
}

// answer has the message be a reply to another one.
func (l *live) answer(message int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = message
}

// set has the message show something, and made if there is none yet.
func (l *live) set(doc markdown.Document, buttons [][]Button) {
	l.mu.Lock()
	want := &textPart{text: doc.Text, entities: doc.Entities, buttons: buttons, replyTo: l.answers}
	if l.closed || reflect.DeepEqual(l.want, want) {
		l.mu.Unlock()
		return
	}
	l.want = want
	l.mu.Unlock()
	l.adapter.post(throttle.Job{
		Chat: l.place.Chat, Group: l.place.Group(), Lane: l.place.Thread, Class: throttle.Progress, Key: l.name, Do: l.update,
		Done: l.missed,
	})
}

// missed lets what was not shown be tried again with the next change.
func (l *live) missed(err error) {
	if err == nil || errors.Is(err, throttle.ErrReplaced) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.want = l.shown
}

// update makes or edits the message.
func (l *live) update(ctx context.Context, _ throttle.Try) error {
	l.mu.Lock()
	id, want, closed := l.id, l.want, l.closed
	l.mu.Unlock()
	if closed || want == nil {
		return nil
	}
	return l.adapter.call(ctx, func(ctx context.Context) error {
		if id != 0 {
			want = &textPart{text: want.text, entities: want.entities, buttons: want.buttons, edit: id}
		}
		now, err := want.send(ctx, l.adapter.client, l.place)
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.id, l.shown = now, want
		posted := l.posted
		l.mu.Unlock()
		if now != id && posted != nil {
			posted(now)
		}
		return nil
	})
}

// close lets the message be as it is, and returns its id, 0 if there is none. It
// blocks while a change of it is under way.
func (l *live) close(ctx context.Context) int {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	_ = l.adapter.sends.Cancel(ctx, l.place.Chat, l.name) // only if ctx ends, and with it all
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id
}

// exists reports whether there is a message.
func (l *live) exists() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id != 0
}

// post submits a job that may be lost.
func (a *Adapter) post(j throttle.Job) {
	if err := a.submitJob(j); err != nil && j.Done != nil {
		j.Done(err)
	}
}

// call makes a call of the API within its time, unless the adapter is ending.
func (a *Adapter) call(ctx context.Context, do func(context.Context) error) error {
	if !a.calls.begin() {
		return errLeaving
	}
	defer a.calls.end()
	ctx, cancel := context.WithTimeout(ctx, botapi.CallTimeout)
	defer cancel()
	return do(ctx)
}

// typeFor shows that somebody types until the function is called that it returns.
func (a *Adapter) typeFor(ctx context.Context, p chats.Address) (end func()) {
	ctx, end = context.WithCancel(ctx)
	a.work.Go(func(context.Context) { // ends by end, or with ctx
		for ; ctx.Err() == nil; tasks.Pause(ctx, typingEvery) {
			a.typing(p)
		}
	})
	return end
}

// typing shows for a moment that somebody types.
func (a *Adapter) typing(p chats.Address) {
	a.post(throttle.Job{
		Chat: p.Chat, Group: p.Group(), Class: throttle.Hint, Key: "typing",
		Do: func(ctx context.Context, _ throttle.Try) error {
			return a.call(ctx, func(ctx context.Context) error {
				_, err := a.client.SendChatAction(ctx, &bot.SendChatActionParams{
					ChatID: p.Chat, MessageThreadID: p.Thread, Action: models.ChatActionTyping,
				})
				return err
			})
		},
	})
}
