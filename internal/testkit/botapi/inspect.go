package botapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Message is what a user sees.
type Message struct {
	ID       int
	Thread   int // 0 is none
	FromBot  bool
	From     string // first name
	Date     time.Time
	Text     string // or the caption
	Entities []Entity
	Buttons  [][]Button
	Media    *Media // nil is none; its Data are the bytes
	ReplyTo  int
	Edits    int
	Service  string // the field of a service message, such as migrate_to_chat_id
}

// Button returns the button with the text, and false if there is none.
func (m Message) Button(text string) (Button, bool) {
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.Text == text {
				return b, true
			}
		}
	}
	return Button{}, false
}

// viewLocked is the message as a user sees it now.
func (m *stored) viewLocked() Message {
	v := Message{
		ID: m.id, Thread: m.thread, FromBot: m.from.bot, From: m.from.FirstName, Date: m.date, Text: m.text,
		Entities: slices.Clone(m.entities), Buttons: m.markup.buttons(), ReplyTo: m.replyTo, Edits: m.edits,
	}
	if m.media != nil {
		media := *m.media
		v.Media = &media
	}
	if m.text == "" && m.media == nil {
		v.Service = strings.Join(slices.Sorted(maps.Keys(m.extra)), " ")
	}
	return v
}

// Messages returns what is in the chat now, the oldest first.
func (c *Chat) Messages() []Message {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	state := c.s.chats[c.id]
	if state == nil {
		return nil
	}
	return state.viewLocked()
}

func (c *chat) viewLocked() []Message {
	var out []Message
	for _, id := range slices.Sorted(maps.Keys(c.messages)) {
		if m := c.messages[id]; !m.deleted {
			out = append(out, m.viewLocked())
		}
	}
	return out
}

// FromBot returns what the bot wrote and is still there.
func (c *Chat) FromBot() []Message {
	return slices.DeleteFunc(c.Messages(), func(m Message) bool { return !m.FromBot })
}

// Message returns the message with the id, and false if nobody sees one.
func (c *Chat) Message(id int) (Message, bool) {
	for _, m := range c.Messages() {
		if m.ID == id {
			return m, true
		}
	}
	return Message{}, false
}

// AwaitMessage returns the first message for which is holds, and waits for it as
// [Server.Await] does.
func (c *Chat) AwaitMessage(what string, is func(Message) bool) Message {
	var found Message
	look := func() bool {
		all := c.Messages()
		i := slices.IndexFunc(all, is)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	}
	if !c.s.wait(look, Patience) {
		c.s.must(fmt.Errorf("chat %d: no %s within %v:\n%s", c.id, what, Patience, c.s.Dump()))
	}
	return found
}

// AwaitText waits for a message of the bot that contains the text.
func (c *Chat) AwaitText(text string) Message {
	return c.AwaitMessage(fmt.Sprintf("message of the bot with %q", text), func(m Message) bool {
		return m.FromBot && strings.Contains(m.Text, text)
	})
}

// AwaitGone waits until nobody sees the message any more.
func (c *Chat) AwaitGone(id int) {
	gone := func() bool {
		_, there := c.Message(id)
		return !there
	}
	if !c.s.wait(gone, Patience) {
		c.s.must(fmt.Errorf("chat %d: message %d is still there after %v:\n%s", c.id, id, Patience, c.s.Dump()))
	}
}

// FindUser returns the person with the id, and false if there is none.
func (s *Server) FindUser(id int64) (*User, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.users[id]
	return u, ok
}
