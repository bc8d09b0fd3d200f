package botapi

import (
	"net/http"
)

// A Chat is a private chat, a group or a supergroup, as its people use it.
type Chat struct {
	s  *Server
	id int64
}

// ID returns the chat's id: that of the user, a negative number for a group, or one that
// begins with -100 for a supergroup.
func (c *Chat) ID() int64 { return c.id }

type kind string

const (
	private    kind = "private"
	group      kind = "group"
	supergroup kind = "supergroup"
)

// chat is the state of a chat, protected by the server's lock.
type chat struct {
	id         int64
	kind       kind
	title      string
	user       *User // of a private chat
	forum      bool
	members    map[int64]*User
	topics     map[int]*topic
	messages   map[int]*stored
	lastID     int            // of a supergroup's messages
	drafts     map[int]*draft // by thread
	actions    map[int]action // by thread
	blocked    bool           // by the user of a private chat
	migratedTo int64
}

func (s *Server) addChatLocked(c *chat) *chat {
	c.topics, c.messages = map[int]*topic{}, map[int]*stored{}
	c.drafts, c.actions = map[int]*draft{}, map[int]action{}
	s.chats[c.id] = c
	return c
}

// Private returns the private chat of the user with the bot. The first call opens it, as a
// person does with the Start button: before that the bot is answered "chat not found".
func (s *Server) Private(u *User) *Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats[u.ID] == nil {
		s.addChatLocked(&chat{id: u.ID, kind: private, user: u, members: map[int64]*User{u.ID: u}})
	}
	return &Chat{s: s, id: u.ID}
}

// Group makes a basic group with the bot and the members in it. Its id must be negative.
func (s *Server) Group(id int64, title string, members ...*User) *Chat {
	return s.newGroup(&chat{id: id, kind: group, title: title}, members)
}

// Supergroup makes a supergroup without topics.
func (s *Server) Supergroup(id int64, title string, members ...*User) *Chat {
	return s.newGroup(&chat{id: id, kind: supergroup, title: title}, members)
}

// Forum makes a supergroup with topics. It has the General topic, whose messages have no
// thread id.
func (s *Server) Forum(id int64, title string, members ...*User) *Chat {
	return s.newGroup(&chat{id: id, kind: supergroup, title: title, forum: true}, members)
}

func (s *Server) newGroup(c *chat, members []*User) *Chat {
	c.members = map[int64]*User{}
	for _, u := range members {
		c.members[u.ID] = u
	}
	return &Chat{s: s, id: locked(s, func() *chat { return s.addChatLocked(c) }).id}
}

// wireLocked is the chat as it is in messages.
func (c *chat) wireLocked() object {
	o := object{"id": c.id, "type": string(c.kind)}
	if c.kind == private {
		c.user.names(o)
		return o
	}
	o["title"] = c.title
	if c.forum {
		o["is_forum"] = true
	}
	return o
}

// chat finds the chat of a call.
func (r *request) chat() *chat {
	if r.text("chat_id") == "" {
		panic(bad("chat_id is empty"))
	}
	c := r.s.chats[r.call.Chat]
	switch {
	case c == nil:
		panic(bad("chat not found"))
	case c.migratedTo != 0:
		panic(&apiError{code: http.StatusBadRequest, description: "Bad Request: group chat was upgraded to a supergroup chat", migrateTo: c.migratedTo})
	case c.blocked:
		panic(blocked)
	}
	return c
}

// change runs f on the chat's state.
func (c *Chat) change(f func(*chat)) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	defer c.s.changedLocked()
	f(c.s.chats[c.id])
}

// Block is what the user of a private chat does to the bot: every send is then refused
// with 403, and the bot gets a my_chat_member update.
func (c *Chat) Block() { c.setBlocked("member", "kicked") }

// Unblock takes it back.
func (c *Chat) Unblock() { c.setBlocked("kicked", "member") }

func (c *Chat) setBlocked(before, after string) {
	c.change(func(state *chat) {
		state.blocked = after == "kicked"
		member := func(status string) object {
			return object{"status": status, "user": c.s.bot.wireLocked(), "until_date": 0}
		}
		c.s.pushLocked("my_chat_member", object{
			"chat": state.wireLocked(), "from": state.user.wireLocked(), "date": now().Unix(),
			"old_chat_member": member(before), "new_chat_member": member(after),
		})
	})
}

// Delete removes the chat: the bot is then answered "chat not found".
func (c *Chat) Delete() {
	c.change(func(*chat) { delete(c.s.chats, c.id) })
}

// Migrate turns a group into a supergroup, with the service messages of it, and returns
// that. The old chat then answers 400 with migrate_to_chat_id.
func (c *Chat) Migrate(by *User, newID int64) *Chat {
	c.change(func(old *chat) {
		fresh := c.s.addChatLocked(&chat{id: newID, kind: supergroup, title: old.title, members: old.members})
		old.migratedTo = newID
		c.s.serviceLocked(old, by, 0, 0, object{"migrate_to_chat_id": newID})
		c.s.serviceLocked(fresh, by, 0, 0, object{"migrate_from_chat_id": old.id})
	})
	return &Chat{s: c.s, id: newID}
}
