package botapi

// A topic is a thread of a forum or of a private chat.
type topic struct{ closed bool }

// generalTopic is the id of a forum's General topic, which the API never uses.
const generalTopic = 1

// CreateTopic opens a topic of a forum or a private chat, with its service message, and
// returns the thread's id.
func (c *Chat) CreateTopic(by *User, name string) (thread int) {
	c.change(func(state *chat) {
		state.lastID = max(state.lastID, generalTopic)
		thread = c.s.nextIDLocked(state)
		state.topics[thread] = &topic{}
		c.s.serviceLocked(state, by, thread, thread, object{"forum_topic_created": object{"name": name, "icon_color": 7322096}})
	})
	return thread
}

// CloseTopic keeps the bot, which is no administrator, from writing there.
func (c *Chat) CloseTopic(by *User, thread int) {
	c.change(func(state *chat) {
		state.topics[thread].closed = true
		c.s.serviceLocked(state, by, 0, thread, object{"forum_topic_closed": object{}})
	})
}

// DeleteTopic removes a topic and its messages, without a word to the bot.
func (c *Chat) DeleteTopic(thread int) {
	c.change(func(state *chat) {
		delete(state.topics, thread)
		for _, m := range state.messages {
			m.deleted = m.deleted || m.Thread == thread
		}
	})
}

// thread checks message_thread_id. A chat without topics does not look at it.
func (r *request) thread(c *chat) int {
	thread := int(r.integer("message_thread_id"))
	if thread == 0 {
		return 0
	}
	if c.kind != private && !c.forum {
		r.violate("message_thread_id %d in a chat without topics; Telegram ignores it", thread)
		return 0
	}
	t := c.topics[thread]
	if t == nil {
		panic(bad("message thread not found"))
	}
	if t.closed {
		panic(bad("TOPIC_CLOSED"))
	}
	return thread
}
