// Package chats names chats, topics and users.
package chats

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// Name is the adapter's name: in messages, deliveries, records and to the agent.
const Name = "telegram"

// Prefix begins the key of every channel that is a chat here.
const Prefix = "tg-"

// An Address is where a conversation is held: a chat, or a topic in a chat.
type Address struct {
	Chat   int64
	Thread int // 0: the chat itself, or a forum's General topic
	// Former is the id of the group that became the supergroup Chat, and still names the
	// channel; 0: Chat names the channel. See [Moves].
	Former int64
}

// AddressOf returns where a message was sent. A thread of replies is no topic,
// though it has an id as well.
func AddressOf(m *models.Message) Address {
	p := Address{Chat: m.Chat.ID}
	if m.IsTopicMessage {
		p.Thread = m.MessageThreadID
	}
	return p
}

// Key returns the channel of the conversation.
func (p Address) Key() core.ChannelKey {
	key := Prefix + strconv.FormatInt(cmp.Or(p.Former, p.Chat), 10)
	if p.Thread != 0 {
		key += "-" + strconv.Itoa(p.Thread)
	}
	return core.ChannelKey(key)
}

// Group reports whether the chat is one of several people.
func (p Address) Group() bool { return p.Chat < 0 }

// ParseAddress returns the conversation that a channel is; false if it is none.
func ParseAddress(key core.ChannelKey) (Address, bool) {
	rest, ok := strings.CutPrefix(string(key), Prefix)
	if !ok {
		return Address{}, false
	}
	chat, thread := rest, "0"
	if i := strings.LastIndexByte(rest, '-'); i > 0 { // the first may be a minus sign
		chat, thread = rest[:i], rest[i+1:]
	}
	var p Address
	var err, err2 error
	p.Chat, err = strconv.ParseInt(chat, 10, 64)
	p.Thread, err2 = strconv.Atoi(thread)
	if err != nil || err2 != nil || p.Key() != key { // only the one way to write it
		return Address{}, false
	}
	return p, true
}

// A Tap is a tap of an allowed user on a button. The button's data says what to do: a
// verb, a colon, and an argument. A tap brings nothing else, so that buttons work after a
// restart and on messages of any age.
type Tap struct {
	Key     string // source key
	Address Address
	Message int  // message with the button
	Stale   bool // the message is too old for Telegram to show: its topic is not known
	User    models.User
	Verb    string
	Arg     string
}

// An Action handles a tap, and returns the text to show to the user.
type Action func(context.Context, Tap) string

// ButtonGone is the answer to a tap on a button that does nothing any more.
const ButtonGone = "This button no longer works."

// FullName returns the name of a user.
func FullName(u *models.User) string {
	if u == nil {
		return ""
	}
	return strings.TrimSpace(u.FirstName + " " + u.LastName)
}
