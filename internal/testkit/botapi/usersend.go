package botapi

import (
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

var commandText = regexp.MustCompile(`^/[a-zA-Z0-9_]{1,32}(@[a-zA-Z0-9_]+)?`)

// Send is a message of a user. The test ends if that person could not send it: is no
// member, has blocked the bot, or there is no such topic.
func (c *Chat) Send(by *User, text string, opts ...SendOption) (sent Sent) {
	c.change(func(state *chat) error {
		m := &stored{Message: Message{Text: text}, from: by}
		for _, opt := range opts {
			opt(m)
		}
		if err := state.admits(by, m); err != nil {
			return err
		}
		if command := commandText.FindString(text); command != "" && m.Media == nil {
			m.Entities = []Entity{{Type: "bot_command", Offset: 0, Length: len(command)}}
		}
		if m.Media != nil {
			c.s.keepLocked(m.Media)
		}
		c.s.addLocked(state, m)
		sent = Sent{MessageID: m.ID, UpdateID: c.s.pushLocked("message", state.wireMessageLocked(m, true))}
		return nil
	})
	return sent
}

// admits says why the person could not send the message.
func (c *chat) admits(by *User, m *stored) error {
	switch {
	case c.members[by.ID] == nil:
		return fmt.Errorf("%s is not in chat %d", by.FirstName, c.id)
	case c.blocked:
		return fmt.Errorf("the bot is not in chat %d", c.id)
	case c.migratedTo != 0:
		return fmt.Errorf("chat %d has become %d", c.id, c.migratedTo)
	case m.Thread != 0 && (c.topics[m.Thread] == nil || c.topics[m.Thread].closed):
		return fmt.Errorf("chat %d has no open topic %d", c.id, m.Thread)
	case m.Text == "" && m.Media == nil:
		return fmt.Errorf("a message of %s is empty", by.FirstName)
	case richtext.Length(m.Text) > maxText:
		return fmt.Errorf("a client sends a text of more than %d UTF-16 units as several messages", maxText)
	case m.ReplyTo != 0 && c.messages[m.ReplyTo] == nil:
		return fmt.Errorf("chat %d has no message %d to reply to", c.id, m.ReplyTo)
	}
	return nil
}

// Edit changes the text or the caption of the user's own message.
func (c *Chat) Edit(by *User, messageID int, text string) Sent {
	sent := Sent{MessageID: messageID}
	c.change(func(state *chat) error {
		m := state.messages[messageID]
		if m == nil || m.deleted || m.from != by {
			return fmt.Errorf("chat %d has no message %d of %s", c.id, messageID, by.FirstName)
		}
		m.Text, m.Entities, m.edited = text, nil, now()
		m.Edits++
		sent.UpdateID = c.s.pushLocked("edited_message", state.wireMessageLocked(m, true))
		return nil
	})
	return sent
}
