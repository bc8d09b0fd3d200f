package chats

import (
	"sync"

	"bareclaw/core"
)

// Moves are the groups that became supergroups, and thereby new chats:
// https://core.telegram.org/bots/api#message. The conversation keeps its channel: only
// the chat behind the channel changes. The zero Moves is empty. The methods are safe for
// concurrent use.
type Moves struct {
	mu     sync.Mutex // guards the fields below
	to     map[int64]int64
	former map[int64]int64
}

// Add notes that a group became a supergroup.
func (m *Moves) Add(group, supergroup int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.to == nil {
		m.to, m.former = map[int64]int64{}, map[int64]int64{}
	}
	m.to[group], m.former[supergroup] = supergroup, group
}

// Present returns the present address of a conversation.
func (m *Moves) Present(a Address) Address {
	m.mu.Lock()
	defer m.mu.Unlock()
	if to, ok := m.to[a.Chat]; ok {
		a.Chat = to
	}
	a.Former = m.former[a.Chat]
	return a
}

// Of returns the present address of a channel; false if the channel is no conversation.
func (m *Moves) Of(key core.ChannelKey) (Address, bool) {
	a, ok := ParseAddress(key)
	return m.Present(a), ok
}

// InChat reports whether a channel is a conversation in the chat of a present address.
func (m *Moves) InChat(here Address, key core.ChannelKey) bool {
	a, ok := m.Of(key)
	return ok && a.Chat == here.Chat
}
