package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// A botRecord is what is known of the bot.
type botRecord struct {
	Name string `json:"name"` // its user name
}

// A chatRecord is what is known of a chat.
type chatRecord struct {
	Title string `json:"title,omitempty"`
	Spoke bool   `json:"spoke,omitempty"` // somebody who is listened to has spoken there
}

// A topicRecord is what is known of a topic.
type topicRecord struct {
	Name string `json:"name"`
}

func chatKey(chat int64) string { return records.Chat + strconv.FormatInt(chat, 10) }

// A movedRecord says what became of a chat that was made a supergroup.
type movedRecord struct {
	To   int64 `json:"to"`
	Done bool  `json:"done,omitempty"` // everything of it is there
}

// A chatbook is what is known of chats and topics: the records, and what is on its
// way there. Its methods are safe for concurrent use.
type chatbook struct {
	moving sync.Mutex // held while a chat is moved

	mu     sync.Mutex // guards the fields below
	spoke  map[int64]bool
	known  map[int64]chatRecord
	topics map[core.ChannelKey]string
	moved  map[int64]movedRecord
}

// remember reads the records of chats, topics and the bot.
func (a *Adapter) remember(ctx context.Context) error {
	b := &a.chats
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spoke, b.known = map[int64]bool{}, map[int64]chatRecord{}
	b.topics, b.moved = map[core.ChannelKey]string{}, map[int64]movedRecord{}
	err := eachRecord(ctx, a, records.Chat, func(id string, r chatRecord) {
		if chat, err := strconv.ParseInt(id, 10, 64); err == nil {
			b.known[chat], b.spoke[chat] = r, r.Spoke
		}
	})
	if err == nil {
		err = eachRecord(ctx, a, records.Topic, func(key string, r topicRecord) { b.topics[core.ChannelKey(key)] = r.Name })
	}
	if err == nil {
		err = eachRecord(ctx, a, records.Moved, func(id string, r movedRecord) {
			if chat, err := strconv.ParseInt(id, 10, 64); err == nil {
				b.moved[chat] = r
			}
		})
	}
	if err == nil {
		err = eachRecord(ctx, a, records.Bot, func(_ string, r botRecord) { a.health.named(r.Name) })
	}
	return err
}

// eachRecord reads the records under a prefix. One that cannot be read is as good as
// none.
func eachRecord[T any](ctx context.Context, a *Adapter, prefix string, f func(rest string, r T)) error {
	rs, err := a.o.Core.Records(ctx, Name, prefix)
	if err != nil {
		return fmt.Errorf("telegram: read what is known of chats: %w", err)
	}
	for _, r := range rs {
		var v T
		if err := json.Unmarshal(r.Doc, &v); err != nil {
			a.o.Log.Warn("telegram: a record cannot be read", "key", r.Key, "err", err)
			continue
		}
		f(strings.TrimPrefix(r.Key, prefix), v)
	}
	return nil
}

// heard notes, until it is on record, that somebody who is listened to has spoken.
func (b *chatbook) heard(chat int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spoke == nil {
		b.spoke = map[int64]bool{}
	}
	b.spoke[chat] = true
}

func (b *chatbook) spoken(chat int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spoke[chat]
}

// movedTo returns where a conversation is held now: elsewhere if its group was made
// a supergroup, which has another id.
func (a *Adapter) movedTo(p chats.Address) chats.Address {
	a.chats.mu.Lock()
	defer a.chats.mu.Unlock()
	for range 3 { // more than a group can be moved
		to, ok := a.chats.moved[p.Chat]
		if !ok {
			break
		}
		p.Chat = to.To
	}
	return p
}

// learn keeps what a message tells of its chat and topic, if that is news.
func (a *Adapter) learn(ctx context.Context, p chats.Address, m *models.Message) {
	if p.Group() {
		r := chatRecord{Title: m.Chat.Title, Spoke: a.chats.spoken(p.Chat)}
		if m.NewChatTitle != "" {
			r.Title = m.NewChatTitle
		}
		if a.chats.newChat(p.Chat, r) {
			a.keepKnown(ctx, records.Chat+strconv.FormatInt(p.Chat, 10), r)
		}
	}
	name, sure := topicName(m)
	if p.Thread != 0 && name != "" && a.chats.newTopic(p.Key(), name, sure) {
		a.keepKnown(ctx, records.Topic+string(p.Key()), topicRecord{Name: name})
	}
}

func (a *Adapter) keepKnown(ctx context.Context, key string, v any) {
	if err := a.records.Put(ctx, key, v); err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: not remembered what a chat is", "key", key, "err", err)
	}
}

func (b *chatbook) newChat(chat int64, r chatRecord) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	old, ok := b.known[chat]
	if ok && old == r {
		return false
	}
	b.known[chat] = r
	return true
}

// newTopic notes a topic's name and reports whether that is news. A name that is not
// sure is the first one it had, which it may have no more.
func (b *chatbook) newTopic(key core.ChannelKey, name string, sure bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.topics[key]; old == name || old != "" && !sure {
		return false
	}
	b.topics[key] = name
	return true
}

// topicName returns the name that a message tells of its topic, and whether it has
// it now: what a message in a topic replies to is the topic's beginning.
func topicName(m *models.Message) (name string, sure bool) {
	switch r := m.ReplyToMessage; {
	case m.ForumTopicCreated != nil:
		return m.ForumTopicCreated.Name, true
	case m.ForumTopicEdited != nil:
		return m.ForumTopicEdited.Name, true
	case r != nil && r.ForumTopicCreated != nil:
		return r.ForumTopicCreated.Name, false
	}
	return "", false
}

// origin says who speaks and where, in names.
func (a *Adapter) origin(p chats.Address, m *models.Message) core.Origin {
	o := core.Origin{Chat: m.Chat.Title}
	if m.From != nil {
		o.User = fullName(m.From)
	}
	if p.Thread == 0 {
		return o
	}
	a.chats.mu.Lock()
	o.Topic = a.chats.topics[p.Key()]
	a.chats.mu.Unlock()
	if o.Topic == "" {
		o.Topic = strconv.Itoa(p.Thread)
	}
	return o
}
