package botapi

import (
	"encoding/json"
	"fmt"
	"regexp"

	"bareclaw/internal/testkit/botapi/richtext"
)

// A Sent is a message of a user and the update about it.
type Sent struct {
	UpdateID  int64 // 0: the bot does not want such updates
	MessageID int
}

// A SendOption adds something to a message of a user.
type SendOption func(*stored)

// InTopic sends into a thread of a forum or of a private chat.
func InTopic(thread int) SendOption { return func(m *stored) { m.Thread = thread } }

// WithMedia attaches media. The text becomes the caption.
func WithMedia(media Media) SendOption { return func(m *stored) { m.Media = &media } }

// InAlbum makes the message a part of an album: media with the same id, one message each,
// sent one after the other.
func InAlbum(id string) SendOption { return func(m *stored) { m.album = id } }

// ReplyingTo answers a message of the chat.
func ReplyingTo(messageID int) SendOption { return func(m *stored) { m.ReplyTo = messageID } }

// WithMembers adds members of a JSON object to the message as the bot gets it, for what users
// pass on: a forward's origin, a quote, a poll.
func WithMembers(members json.RawMessage) SendOption {
	return func(m *stored) {
		if err := json.Unmarshal(members, &m.extra); err != nil {
			panic(fmt.Sprintf("members of a message: %v", err))
		}
	}
}

var commandText = regexp.MustCompile(`^/[a-zA-Z0-9_]{1,32}(@[a-zA-Z0-9_]+)?`)

// Send is a message of a user.
func (c *Chat) Send(by *User, text string, opts ...SendOption) (sent Sent) {
	if richtext.Length(text) > maxText {
		c.s.must(fmt.Errorf("a client sends a text of more than %d UTF-16 units as several messages", maxText))
	}
	c.change(func(state *chat) {
		m := &stored{Message: Message{Text: text}, from: by}
		for _, opt := range opts {
			opt(m)
		}
		if command := commandText.FindString(text); command != "" && m.Media == nil {
			m.Entities = []Entity{{Type: "bot_command", Offset: 0, Length: len(command)}}
		}
		if m.Media != nil {
			c.s.keepLocked(m.Media)
		}
		c.s.addLocked(state, m)
		sent = Sent{MessageID: m.ID, UpdateID: c.s.pushLocked("message", state.wireMessageLocked(m, true))}
	})
	return sent
}

// Edit changes the text or the caption of the user's own message.
func (c *Chat) Edit(_ *User, messageID int, text string) Sent {
	sent := Sent{MessageID: messageID}
	c.change(func(state *chat) {
		m := state.messages[messageID]
		m.Text, m.Entities, m.edited = text, nil, now()
		m.Edits++
		sent.UpdateID = c.s.pushLocked("edited_message", state.wireMessageLocked(m, true))
	})
	return sent
}
