package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"
	"bareclaw/internal/visible"

	"github.com/go-telegram/bot/models"
)

type chatRecord struct {
	Title string `json:"title,omitempty"`
	Spoke bool   `json:"spoke,omitempty"` // an allowed user has written in the chat
}

type movedRecord struct {
	To      int64 `json:"to"`
	Rekeyed bool  `json:"done,omitempty"` // by an earlier version: the supergroup names the channel
}

func chatKey(chat int64) string  { return records.RecordChat + strconv.FormatInt(chat, 10) }
func movedKey(chat int64) string { return records.RecordMoved + strconv.FormatInt(chat, 10) }

// A chatBook knows the users obeyed by the bot, and records what messages tell about chats
// and topics. Its methods are safe for concurrent use.
type chatBook struct {
	env     *base.Base
	allowed map[int64]bool // users obeyed by the bot
	inert   func(string) string

	mu    sync.Mutex // guards spoke
	spoke map[int64]bool
}

func newChatBook(e *base.Base, allowed []int64, inert func(string) string) *chatBook {
	c := &chatBook{env: e, allowed: map[int64]bool{}, inert: inert, spoke: map[int64]bool{}}
	for _, user := range allowed {
		c.allowed[user] = true
	}
	return c
}

func (c *chatBook) load(ctx context.Context, h *health) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := func(text string) int64 {
		n, _ := strconv.ParseInt(text, 10, 64) // 0 is no chat
		return n
	}
	return errors.Join(
		records.Each(ctx, c.env.Records, records.RecordChat, func(chat string, r chatRecord) { c.spoke[id(chat)] = r.Spoke }),
		records.Each(ctx, c.env.Records, records.RecordMoved, func(chat string, r movedRecord) { c.env.Moves.Add(id(chat), r.To, r.Rekeyed) }),
		records.Each(ctx, c.env.Records, records.RecordBot, func(_ string, bot records.Name) { h.setName(bot.Name) }),
	)
}

// obeys reports whether a message is from a currently allowed user: the settings may
// have changed since the message was received.
func (c *chatBook) obeys(m *models.Message) bool {
	return m.From != nil && m.SenderChat == nil && c.allowed[m.From.ID]
}

// heard remembers that an allowed user has written in a chat; learn records the fact.
func (c *chatBook) heard(chat int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spoke[chat] = true
}

func (c *chatBook) spoken(chat int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spoke[chat]
}

func (c *chatBook) checkRecipient(ctx context.Context, key core.ChannelKey) error {
	to, ok := chats.ParseAddress(key)
	if !ok {
		return &core.PushError{
			Kind: core.ErrNotAllowed,
			Text: fmt.Sprintf("%q is not a chat: a Telegram channel is %s<chat id>, or %s<chat id>-<topic id>.", key, Prefix, Prefix),
		}
	}
	if c.allowed[to.Chat] { // a private chat has the id of the user
		return nil
	}
	var chat chatRecord
	if to = c.env.Moves.Present(to); to.Group() {
		if _, err := c.env.Records.Get(ctx, chatKey(to.Chat), &chat); err != nil {
			return err
		}
	}
	if !chat.Spoke {
		return &core.PushError{
			Kind: core.ErrNotAllowed,
			Text: "The gateway sends nothing to this chat. It must be the chat of a user in BARECLAW_ALLOWED_USERS, or a group in which one of them has spoken.",
		}
	}
	return nil
}

// learn records the names of a chat and a topic. A topic's first name, from a reply in the
// topic, replaces no other name.
func (c *chatBook) learn(ctx context.Context, a chats.Address, m *models.Message) {
	if a.Group() {
		record(ctx, c.env.Records, "a chat", chatKey(a.Chat), chatRecord{Title: cmp.Or(m.NewChatTitle, m.Chat.Title), Spoke: c.spoken(a.Chat)})
	}
	name, current := topicName(m)
	if a.Thread != 0 && name != "" && (current || c.topic(ctx, a) == "") {
		record(ctx, c.env.Records, "a topic", records.RecordTopic+string(a.Key()), records.Name{Name: name})
	}
}

func record[T comparable](ctx context.Context, s *records.Store, what, key string, v T) {
	if records.ValueOf[T](ctx, s, key) != v {
		s.Keep(ctx, what, key, v)
	}
}

func (c *chatBook) topic(ctx context.Context, a chats.Address) string {
	return records.ValueOf[records.Name](ctx, c.env.Records, records.RecordTopic+string(a.Key())).Name
}

// topicName returns the topic name in a message, and whether the name is current: a
// message in a topic replies to the message that opened the topic.
func topicName(m *models.Message) (name string, current bool) {
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

func (c *chatBook) origin(ctx context.Context, a chats.Address, m *models.Message) core.Origin {
	name := func(text string) string { return c.inert(visible.Prose(text)) }
	o := core.Origin{Chat: name(m.Chat.Title), User: name(chats.FullName(m.From))}
	if a.Thread != 0 {
		o.Topic = cmp.Or(name(c.topic(ctx, a)), strconv.Itoa(a.Thread))
	}
	return o
}
