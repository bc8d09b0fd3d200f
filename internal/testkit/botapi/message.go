package botapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bareclaw/internal/testkit/botapi/richtext"
)

// An Entity formats a part of a text.
type Entity = richtext.Entity

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
}

// stored is a message, protected by the server's lock.
type stored struct {
	Message
	from    *User
	edited  time.Time // zero: never
	markup  *keyboard
	album   string
	deleted bool
	extra   object // whatever else the message has
}

// addLocked puts a message into the chat. A supergroup counts its messages on its own; all
// other chats of a bot share one count.
func (s *Server) addLocked(c *chat, m *stored) {
	if m.ID == 0 {
		m.ID = s.nextIDLocked(c)
	}
	m.Date, m.FromBot, m.From = now(), m.from.bot, m.from.FirstName
	c.messages[m.ID] = m
	s.changedLocked()
}

func (s *Server) nextIDLocked(c *chat) int {
	last := &s.lastID
	if c.kind == supergroup {
		last = &c.lastID
	}
	*last++
	return *last
}

// serviceLocked adds a message about the chat itself, with an id or, for 0, the next one,
// and tells the bot of it.
func (s *Server) serviceLocked(c *chat, by *User, id, thread int, what object) {
	m := &stored{Message: Message{ID: id, Thread: thread}, from: by, extra: what}
	s.addLocked(c, m)
	s.pushLocked("message", c.wireMessageLocked(m, true))
}

// wireMessageLocked is the message as the API has it.
func (c *chat) wireMessageLocked(m *stored, withReply bool) object {
	o := object{"message_id": m.ID, "from": m.from.wireLocked(), "chat": c.wireLocked(), "date": m.Date.Unix()}
	maps.Copy(o, m.extra)
	if m.Thread != 0 {
		o["message_thread_id"], o["is_topic_message"] = m.Thread, true
	}
	if !m.edited.IsZero() {
		o["edit_date"] = m.edited.Unix()
	}
	if m.album != "" {
		o["media_group_id"] = m.album
	}
	text, entities := "text", "entities"
	if m.Media != nil {
		text, entities = "caption", "caption_entities"
		m.Media.addTo(o)
	}
	if m.Text != "" {
		o[text] = m.Text
	}
	if len(m.Entities) > 0 {
		o[entities] = m.Entities
	}
	if m.markup != nil {
		o["reply_markup"] = m.markup
	}
	if to := c.messages[m.ReplyTo]; withReply && to != nil && !to.deleted {
		o["reply_to_message"] = c.wireMessageLocked(to, false)
	}
	return o
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

// String is one line.
func (m Message) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s", m.ID, m.From)
	if m.Thread != 0 {
		fmt.Fprintf(&b, " in topic %d", m.Thread)
	}
	if m.Edits > 0 {
		fmt.Fprintf(&b, " (edited %d times)", m.Edits)
	}
	if m.Media != nil {
		fmt.Fprintf(&b, " [%s %s %d bytes]", m.Media.Kind, m.Media.Name, len(m.Media.Data))
	}
	fmt.Fprintf(&b, ": %s", short(m.Text))
	for _, row := range m.Buttons {
		for _, button := range row {
			fmt.Fprintf(&b, " [%s]", button.Text)
		}
	}
	return b.String()
}

// Messages returns what is in the chat now, the oldest first.
func (c *Chat) Messages() []Message {
	return locked(c.s, func() []Message {
		if state := c.s.chats[c.id]; state != nil {
			return state.viewLocked()
		}
		return nil
	})
}

// viewLocked returns the messages as a user sees them now.
func (c *chat) viewLocked() []Message {
	var out []Message
	for _, id := range slices.Sorted(maps.Keys(c.messages)) {
		m := c.messages[id]
		if m.deleted {
			continue
		}
		v := m.Message
		v.Entities, v.Buttons = slices.Clone(m.Entities), m.markup.buttons()
		if m.Media != nil {
			media := *m.Media
			v.Media = &media
		}
		out = append(out, v)
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
func (c *Chat) AwaitMessage(what string, is func(Message) bool) (found Message) {
	c.s.must(c.s.wait(fmt.Sprintf("%s in chat %d", what, c.id), func() bool {
		all := c.Messages()
		i := slices.IndexFunc(all, is)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	}))
	return found
}

// AwaitText waits for a message of the bot that contains all of the texts.
func (c *Chat) AwaitText(texts ...string) Message {
	return c.AwaitMessage(fmt.Sprintf("message of the bot with %q", texts), func(m Message) bool {
		return m.FromBot && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(m.Text, text) })
	})
}

// AwaitGone waits until nobody sees the message any more.
func (c *Chat) AwaitGone(id int) {
	c.s.must(c.s.wait(fmt.Sprintf("end of message %d in chat %d", id, c.id), func() bool {
		_, there := c.Message(id)
		return !there
	}))
}
