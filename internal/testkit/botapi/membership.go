package botapi

import "fmt"

// change runs f on the chat's state and ends the test if it cannot be done.
func (c *Chat) change(f func(*chat) error) {
	c.s.mu.Lock()
	state, err := c.stateLocked()
	if err == nil {
		err = f(state)
	}
	c.s.changedLocked()
	c.s.mu.Unlock()
	c.s.must(err)
}

func (c *Chat) stateLocked() (*chat, error) {
	state := c.s.chats[c.id]
	if state == nil {
		return nil, fmt.Errorf("chat %d was deleted", c.id)
	}
	return state, nil
}

// Block is what the user of a private chat does to the bot: every send is then
// refused with 403, and the bot gets a my_chat_member update.
func (c *Chat) Block() { c.setBlocked(true) }

// Unblock takes it back.
func (c *Chat) Unblock() { c.setBlocked(false) }

func (c *Chat) setBlocked(blocked bool) {
	c.change(func(state *chat) error {
		if state.kind != private {
			return fmt.Errorf("chat %d is a %s; only a person blocks the bot", c.id, state.kind)
		}
		state.blocked = blocked
		c.s.memberLocked(state, state.user, blocked)
		return nil
	})
}

// memberLocked tells the bot that it was put out of a chat or taken in.
func (s *Server) memberLocked(c *chat, by *User, out bool) {
	in := object{"status": "member", "user": s.bot.wireLocked()}
	gone := object{"status": "kicked", "user": s.bot.wireLocked(), "until_date": 0}
	body := object{"chat": c.wireLocked(), "from": by.wireLocked(), "date": s.unixLocked(), "old_chat_member": in, "new_chat_member": gone}
	if !out {
		body["old_chat_member"], body["new_chat_member"] = gone, in
	}
	s.pushLocked("my_chat_member", body)
}

// Delete removes the chat: the bot is then answered "chat not found".
func (c *Chat) Delete() {
	c.change(func(*chat) error {
		delete(c.s.chats, c.id)
		return nil
	})
}

// Migrate turns a group into a supergroup, with the service messages of it, and
// returns that. The old chat then answers 400 with migrate_to_chat_id.
func (c *Chat) Migrate(by *User, newID int64) *Chat {
	c.change(func(old *chat) error {
		if old.kind != group || c.s.chats[newID] != nil {
			return fmt.Errorf("chat %d is a %s and there may be a chat %d: only a group becomes a new supergroup", c.id, old.kind, newID)
		}
		fresh := c.s.addChatLocked(&chat{id: newID, kind: supergroup, title: old.title, members: old.members})
		old.migratedTo = newID
		c.s.serviceLocked(old, by, 0, object{"migrate_to_chat_id": newID})
		c.s.serviceLocked(fresh, by, 0, object{"migrate_from_chat_id": old.id})
		return nil
	})
	return &Chat{s: c.s, id: newID}
}
