package botapi

import (
	"fmt"
	"regexp"
	"unicode/utf16"
)

// A Sent is a message of a user and the update about it.
type Sent struct {
	UpdateID  int64 // 0: the bot does not want such updates
	MessageID int
}

// A SendOption adds something to a message of a user.
type SendOption func(*sending)

// sending is a message in the making.
type sending struct{ m *stored }

// InTopic sends into a thread of a forum or of a private chat.
func InTopic(thread int) SendOption { return func(s *sending) { s.m.thread = thread } }

// WithMedia attaches media. The text becomes the caption.
func WithMedia(media Media) SendOption { return func(s *sending) { s.m.media = &media } }

// InAlbum makes the message a part of an album: media with the same id, one
// message each, sent one after the other.
func InAlbum(id string) SendOption { return func(s *sending) { s.m.album = id } }

// ReplyingTo answers a message of the chat.
func ReplyingTo(messageID int) SendOption { return func(s *sending) { s.m.replyTo = messageID } }

var commandText = regexp.MustCompile(`^/[a-zA-Z0-9_]{1,32}(@[a-zA-Z0-9_]+)?`)

// Send is a message of a user. The test ends if that person could not send it:
// is no member, has blocked the bot, or there is no such topic.
func (c *Chat) Send(by *User, text string, opts ...SendOption) Sent {
	var sent Sent
	c.change(func(state *chat) error {
		build := &sending{m: &stored{from: by, text: text, extra: object{}}}
		for _, opt := range opts {
			opt(build)
		}
		if err := state.admits(by, build.m); err != nil {
			return err
		}
		if command := commandText.FindString(text); command != "" && build.m.media == nil {
			build.m.entities = append([]Entity{{Type: "bot_command", Offset: 0, Length: len(command)}}, build.m.entities...)
		}
		if build.m.media != nil {
			c.s.keepLocked(build.m.media)
		}
		c.s.addLocked(state, build.m)
		sent = Sent{MessageID: build.m.id, UpdateID: c.s.pushLocked("message", c.s.wireLocked(state, build.m))}
		return nil
	})
	return sent
}

// admits says why the person could not send the message.
func (c *chat) admits(by *User, m *stored) error {
	units := utf16.Encode([]rune(m.text))
	switch {
	case c.members[by.ID] == nil:
		return fmt.Errorf("%s is not in chat %d", by.FirstName, c.id)
	case c.blocked:
		return fmt.Errorf("the bot is not in chat %d", c.id)
	case c.migratedTo != 0:
		return fmt.Errorf("chat %d has become %d", c.id, c.migratedTo)
	case m.thread != 0 && (c.topics[m.thread] == nil || c.topics[m.thread].closed):
		return fmt.Errorf("chat %d has no open topic %d", c.id, m.thread)
	case m.text == "" && m.media == nil:
		return fmt.Errorf("a message of %s is empty", by.FirstName)
	case len(units) > maxText:
		return fmt.Errorf("a client sends a text of %d UTF-16 units as several messages", len(units))
	case m.replyTo != 0 && c.messages[m.replyTo] == nil:
		return fmt.Errorf("chat %d has no message %d to reply to", c.id, m.replyTo)
	}
	for _, e := range m.entities {
		if e.end() > len(units) {
			return fmt.Errorf("the entity %s at %d+%d is beyond the text", e.Type, e.Offset, e.Length)
		}
	}
	return nil
}

// Edit changes the text or the caption of the user's own message.
func (c *Chat) Edit(by *User, messageID int, text string) Sent {
	sent := Sent{MessageID: messageID}
	c.change(func(state *chat) error {
		m, err := state.visible(messageID)
		if err != nil {
			return err
		}
		if m.from != by {
			return fmt.Errorf("message %d is not of %s", messageID, by.FirstName)
		}
		m.text, m.entities, m.edited = text, nil, c.s.opts.now()
		m.edits++
		c.s.changedLocked()
		sent.UpdateID = c.s.pushLocked("edited_message", c.s.wireLocked(state, m))
		return nil
	})
	return sent
}
