package botapi

import (
	"time"
)

// stored is a message, protected by the server's lock.
type stored struct {
	id, thread int
	from       *User
	date       time.Time
	edited     time.Time // zero: never
	text       string    // or the caption, if there is media
	entities   []Entity
	media      *Media
	markup     *keyboard
	album      string
	replyTo    int
	edits      int
	deleted    bool
	extra      object // whatever else the message has
}

func (s *Server) unixLocked() int64 { return s.opts.now().Unix() }

// nextIDLocked numbers a message. A supergroup counts on its own; all other
// chats of a bot share one count.
func (s *Server) nextIDLocked(c *chat) int {
	if c.kind == supergroup {
		c.lastID++
		return c.lastID
	}
	s.lastID++
	return s.lastID
}

// addLocked puts a message into the chat.
func (s *Server) addLocked(c *chat, m *stored) {
	if m.id == 0 {
		m.id = s.nextIDLocked(c)
	}
	m.date = s.opts.now()
	c.messages[m.id] = m
	s.changedLocked()
}

// wireLocked is the message as the API has it.
func (s *Server) wireLocked(c *chat, m *stored) object { return s.wireDepthLocked(c, m, true) }

func (s *Server) wireDepthLocked(c *chat, m *stored, withReply bool) object {
	o := object{"message_id": m.id, "from": m.from.wireLocked(), "chat": c.wireLocked(), "date": m.date.Unix()}
	for name, value := range m.extra {
		o[name] = value
	}
	if m.thread != 0 {
		o["message_thread_id"], o["is_topic_message"] = m.thread, true
	}
	if !m.edited.IsZero() {
		o["edit_date"] = m.edited.Unix()
	}
	if m.album != "" {
		o["media_group_id"] = m.album
	}
	text, entities := "text", "entities"
	if m.media != nil {
		text, entities = "caption", "caption_entities"
		m.media.addTo(o)
	}
	if m.text != "" {
		o[text] = m.text
	}
	if len(m.entities) > 0 {
		o[entities] = m.entities
	}
	if m.markup != nil && len(m.markup.Inline) > 0 {
		o["reply_markup"] = m.markup
	}
	if to := c.messages[m.replyTo]; withReply && to != nil && !to.deleted {
		o["reply_to_message"] = s.wireDepthLocked(c, to, false)
	}
	return o
}

// serviceLocked adds a message about the chat itself and tells the bot of it.
func (s *Server) serviceLocked(c *chat, by *User, thread int, what object) {
	s.serviceWithIDLocked(c, by, 0, thread, what)
}

func (s *Server) serviceWithIDLocked(c *chat, by *User, id, thread int, what object) {
	m := &stored{id: id, thread: thread, from: by, extra: what}
	s.addLocked(c, m)
	s.pushLocked("message", s.wireLocked(c, m))
}
