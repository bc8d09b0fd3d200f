package botapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// A Chat is a private chat, a group or a supergroup, as its people use it.
type Chat struct {
	s  *Server
	id int64
}

// ID returns the chat's id: that of the user, a negative number for a group, or
// one that begins with -100 for a supergroup.
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

// Private returns the private chat of the user with the bot. The first call
// opens it, as a person does with the Start button: before that the bot is
// answered "chat not found".
func (s *Server) Private(u *User) *Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats[u.ID] == nil {
		s.addChatLocked(&chat{id: u.ID, kind: private, user: u, members: map[int64]*User{u.ID: u}})
	}
	return &Chat{s: s, id: u.ID}
}

// Group makes a basic group with the bot and the members in it. Its id must be
// negative.
func (s *Server) Group(id int64, title string, members ...*User) *Chat {
	return s.newGroup(&chat{id: id, kind: group, title: title}, members)
}

// Supergroup makes a supergroup without topics.
func (s *Server) Supergroup(id int64, title string, members ...*User) *Chat {
	return s.newGroup(&chat{id: id, kind: supergroup, title: title}, members)
}

// Forum makes a supergroup with topics. It has the General topic, whose
// messages have no thread id.
func (s *Server) Forum(id int64, title string, members ...*User) *Chat {
	return s.newGroup(&chat{id: id, kind: supergroup, title: title, forum: true}, members)
}

func (s *Server) newGroup(c *chat, members []*User) *Chat {
	s.mu.Lock()
	var err error
	switch {
	case c.id >= 0:
		err = fmt.Errorf("the id %d of the group %q is not negative", c.id, c.title)
	case s.chats[c.id] != nil:
		err = fmt.Errorf("there is a chat %d already", c.id)
	default:
		c.members = map[int64]*User{}
		for _, u := range members {
			c.members[u.ID] = u
		}
		s.addChatLocked(c)
	}
	s.mu.Unlock()
	s.must(err)
	return &Chat{s: s, id: c.id}
}

// wireLocked is the chat as it is in messages.
func (c *chat) wireLocked() object {
	o := object{"id": c.id, "type": string(c.kind)}
	if c.kind == private {
		o["first_name"] = c.user.FirstName
		if c.user.LastName != "" {
			o["last_name"] = c.user.LastName
		}
		if c.user.Username != "" {
			o["username"] = c.user.Username
		}
		return o
	}
	o["title"] = c.title
	if c.forum {
		o["is_forum"] = true
	}
	return o
}

func chatIDOf(values map[string]string) int64 {
	id, _ := strconv.ParseInt(values["chat_id"], 10, 64)
	return id
}

func threadOf(values map[string]string) int {
	id, _ := strconv.Atoi(values["message_thread_id"])
	return id
}

// chat finds the chat of a call.
func (r *request) chat() *chat {
	if r.text("chat_id") == "" {
		panic(bad("chat_id is empty"))
	}
	c := r.s.chats[chatIDOf(r.values)]
	switch {
	case c == nil:
		panic(bad("chat not found"))
	case c.migratedTo != 0:
		panic(&apiError{code: http.StatusBadRequest, description: "Bad Request: group chat was upgraded to a supergroup chat", migrateTo: c.migratedTo})
	case c.blocked:
		panic(forbidden("bot was blocked by the user"))
	}
	return c
}

// chatIDs returns the ids of all chats in order.
func (s *Server) chatIDsLocked() []int64 { return slices.Sorted(maps.Keys(s.chats)) }
