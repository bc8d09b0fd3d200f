package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// leftPause is how long is waited before it is tried again to give a message that
// shows nothing more its last words.
const leftPause = 10 * time.Second

// A streamRecord is the message that shows a text which is being written.
type streamRecord struct {
	Message int    `json:"message"`
	Name    string `json:"name"` // of the text, see progress.View
}

// A leftRecord is what becomes of a message that shows nothing more: its last words,
// or, where there are none, nothing.
type leftRecord struct {
	Text     string                 `json:"text,omitempty"`
	Entities []models.MessageEntity `json:"entities,omitempty"`
}

// recallShown takes up the messages that an earlier process has shown things in.
func (f *follower) recallShown(ctx context.Context) {
	var s streamRecord
	_, err := f.adapter.records.Get(ctx, records.Status+string(f.key), &f.status.live.id)
	_, err2 := f.adapter.records.Get(ctx, records.Stream+string(f.key), &s)
	if err = errors.Join(err, err2); err != nil && ctx.Err() == nil {
		f.adapter.o.Log.Warn("telegram: not known what was shown", "channel", string(f.key), "err", err)
	}
	f.stream.live.id = s.Message
	f.stream.call(s.Name)
}

// statusPosted remembers which message is a conversation's status line.
func (a *Adapter) statusPosted(key core.ChannelKey, id int) {
	a.showing.Lock()
	defer a.showing.Unlock()
	if err := a.records.Put(context.WithoutCancel(a.work.Context()), records.Status+string(key), id); err != nil && a.work.Context().Err() == nil {
		a.o.Log.Warn("telegram: not remembered what is shown", "channel", string(key), "err", err)
	}
}

// statusLeft lets a status line have its last words. The next turn may have another
// one already.
func (a *Adapter) statusLeft(ctx context.Context, p chats.Address, id int, last markdown.Document) {
	a.showing.Lock()
	defer a.showing.Unlock()
	var shown int
	if _, err := a.records.Get(ctx, records.Status+string(p.Key()), &shown); err != nil || shown != id {
		a.leave(ctx, p, id, last)
		return
	}
	a.leave(ctx, p, id, last, records.Deletion(records.Status+string(p.Key())))
}

// leave gives a message that shows nothing more its last words, or takes it away
// where there are none. It is on record until that is done. Other records are
// written together with that one.
func (a *Adapter) leave(ctx context.Context, p chats.Address, id int, last markdown.Document, others ...*core.Record) {
	l := leftRecord{Text: last.Text, Entities: last.Entities}
	doc, err := json.Marshal(l)
	if err == nil {
		err = a.records.Write(ctx, append(others, &core.Record{Owner: Name, Key: leftKey(p, id), Doc: doc})...)
	}
	if err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: not remembered what is to be tidied up", "chat", p.Chat, "message", id, "err", err)
	}
	a.wrapUp(p, id, l)
}

func leftKey(p chats.Address, id int) string {
	return records.Finalize + string(p.Key()) + ":" + strconv.Itoa(id)
}

// wrapUp does what leave has recorded, again and again until it is done or refused.
func (a *Adapter) wrapUp(p chats.Address, id int, last leftRecord) {
	a.post(throttle.Job{
		Chat: p.Chat, Group: p.Group(), Lane: p.Thread, Class: throttle.Progress,
		Do: func(ctx context.Context, _ throttle.Try) error {
			return a.call(ctx, func(ctx context.Context) error { return last.apply(ctx, a.client, p, id) })
		},
		Done: func(err error) {
			switch {
			case errors.Is(err, throttle.ErrClosed), errors.Is(err, errLeaving): // the next process does it
			case err == nil, classify(err).Kind == throttle.Permanent:
				a.work.Go(func(ctx context.Context) { _ = a.records.Write(ctx, records.Deletion(leftKey(p, id))) }) // or it is done once more
			default:
				a.work.Go(func(ctx context.Context) {
					tasks.Pause(ctx, leftPause)
					a.wrapUp(p, id, last)
				})
			}
		},
	})
}

func (l *leftRecord) apply(ctx context.Context, c *botapi.Client, p chats.Address, id int) error {
	if l.Text == "" {
		_, err := c.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: p.Chat, MessageID: id})
		return err
	}
	return (&textPart{text: l.Text, entities: l.Entities, edit: id}).change(ctx, c, p)
}

// wrapUpLeft does what an earlier process has not come to.
func (a *Adapter) wrapUpLeft(ctx context.Context) error {
	all, err := a.o.Core.Records(ctx, Name, records.Finalize)
	if err != nil {
		return err
	}
	for _, r := range all {
		key, message, _ := strings.Cut(strings.TrimPrefix(r.Key, records.Finalize), ":")
		p, ok := chats.ParseAddress(core.ChannelKey(key))
		id, err := strconv.Atoi(message)
		var last leftRecord
		if ok && err == nil && json.Unmarshal(r.Doc, &last) == nil {
			a.wrapUp(p, id, last)
		}
	}
	return nil
}
