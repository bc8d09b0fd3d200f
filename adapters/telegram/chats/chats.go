// Package chats names chats, topics and users.
package chats

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync"
	"unicode"

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

// Group reports whether the chat is a group: ids of groups are negative.
func (p Address) Group() bool { return p.Chat < 0 }

// ParseAddress returns the conversation with a channel key; false if the key names none.
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

// Moves are the groups that became supergroups, and thereby new chats:
// https://core.telegram.org/bots/api#message. The conversation keeps its channel: only
// the chat behind the channel changes. The zero Moves is empty. The methods are safe for
// concurrent use.
type Moves struct {
	mu     sync.Mutex // guards the fields below
	to     map[int64]int64
	former map[int64]int64
}

// Add notes that a group became a supergroup. If rekeyed, the supergroup names the channel.
func (m *Moves) Add(group, supergroup int64, rekeyed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.to == nil {
		m.to, m.former = map[int64]int64{}, map[int64]int64{}
	}
	if m.to[group] = supergroup; !rekeyed {
		m.former[supergroup] = group
	}
}

// Present returns the present address of a conversation.
func (m *Moves) Present(a Address) Address {
	m.mu.Lock()
	defer m.mu.Unlock()
	if to, ok := m.to[a.Chat]; ok {
		a.Chat = to
	}
	a.Former = m.former[a.Chat]
	return a
}

// Of returns the present address of a channel; false if the channel is no conversation.
func (m *Moves) Of(key core.ChannelKey) (Address, bool) {
	a, ok := ParseAddress(key)
	return m.Present(a), ok
}

// InChat reports whether a channel is a conversation in the chat of a present address.
func (m *Moves) InChat(here Address, key core.ChannelKey) bool {
	a, ok := m.Of(key)
	return ok && a.Chat == here.Chat
}

// Unaddressed removes the bot's user name from a text: a leading "@name", and the one that
// follows a command.
func Unaddressed(text, bot string) string {
	first, rest := firstWord(text)
	switch name, at, ok := strings.Cut(first, "@"); {
	case !ok || bot == "":
	case name == "" && strings.EqualFold(strings.TrimRight(at, ",:"), bot):
		return strings.TrimLeftFunc(rest, unicode.IsSpace)
	case strings.HasPrefix(name, "/") && strings.EqualFold(at, bot):
		return name + rest
	}
	return text
}

// ForOtherBot reports whether a text is a command for another bot of the group. The names
// of bots end in "bot": https://core.telegram.org/bots/features#botfather
func ForOtherBot(text, bot string) bool {
	first, _ := firstWord(text)
	name, at, ok := strings.Cut(first, "@")
	return ok && bot != "" && len(name) > 1 && name[0] == '/' && !strings.Contains(name[1:], "/") &&
		strings.HasSuffix(strings.ToLower(at), "bot") && !strings.EqualFold(at, bot)
}

func firstWord(text string) (word, rest string) {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}
