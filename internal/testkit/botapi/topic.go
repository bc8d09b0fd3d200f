package botapi

import "fmt"

// A topic is a thread of a forum or of a private chat.
type topic struct {
	name   string
	closed bool
}

// generalTopic is the id of a forum's General topic, which the API never uses.
const generalTopic = 1

// CreateTopic opens a topic of a forum or a private chat, with its service
// message, and returns the thread's id.
func (c *Chat) CreateTopic(by *User, name string) int {
	var thread int
	c.change(func(state *chat) error {
		if state.kind != private && !state.forum {
			return fmt.Errorf("chat %d has no topics", c.id)
		}
		if state.lastID == 0 {
			state.lastID = generalTopic
		}
		thread = c.s.nextIDLocked(state)
		state.topics[thread] = &topic{name: name}
		c.s.serviceLocked(state, by, thread, thread, object{"forum_topic_created": object{"name": name, "icon_color": 7322096}})
		return nil
	})
	return thread
}

// CloseTopic keeps the bot, which is no administrator, from writing there.
func (c *Chat) CloseTopic(by *User, thread int) {
	c.change(func(state *chat) error {
		t := state.topics[thread]
		if t == nil {
			return fmt.Errorf("chat %d has no topic %d", c.id, thread)
		}
		t.closed = true
		c.s.serviceLocked(state, by, 0, thread, object{"forum_topic_closed": object{}})
		return nil
	})
}

// DeleteTopic removes a topic and its messages, without a word to the bot.
func (c *Chat) DeleteTopic(thread int) {
	c.change(func(state *chat) error {
		if state.topics[thread] == nil {
			return fmt.Errorf("chat %d has no topic %d", c.id, thread)
		}
		delete(state.topics, thread)
		for _, m := range state.messages {
			if m.Thread == thread {
				m.deleted = true
			}
		}
		return nil
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
