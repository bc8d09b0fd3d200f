package botapi

import (
	"fmt"
	"time"
)

const (
	// callbackLife is our choice: Telegram says only that the client shows a progress bar
	// until the bot answers, and refuses late answers.
	callbackLife = 30 * time.Second
	maxAnswer    = 200 // characters: core.telegram.org/bots/api#answercallbackquery
)

// callback is a tap that may be answered.
type callback struct {
	at     time.Time
	answer *string
}

// A Tap is a press on a button.
type Tap struct {
	s *Server
	c *callback
}

// Answer returns what the user is shown, and false as long as the bot has not answered.
func (t Tap) Answer() (text string, ok bool) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.c.answer == nil {
		return "", false
	}
	return *t.c.answer, true
}

// Tap presses a button below a message of the chat.
func (c *Chat) Tap(by *User, messageID int, button string) Tap {
	m, _ := c.Message(messageID)
	b, ok := m.Button(button)
	if !ok {
		c.s.must(fmt.Errorf("message %d of chat %d has no button %q but %v", messageID, c.id, button, m.Buttons))
	}
	return c.TapStale(by, messageID, b.Data)
}

// TapStale sends a callback query for data that no button needs to have any more, as a
// phone does that has not seen the last edit.
func (c *Chat) TapStale(by *User, messageID int, data string) Tap {
	tap := Tap{s: c.s, c: &callback{at: now()}}
	c.change(func(state *chat) {
		m := state.messages[messageID]
		about := state.wireMessageLocked(m, true)
		if m.deleted {
			about = object{"chat": state.wireLocked(), "message_id": m.ID, "date": 0}
		}
		id := fmt.Sprint(4_000_000_000_000 + len(c.s.callbacks))
		c.s.callbacks[id] = tap.c
		c.s.pushLocked("callback_query", object{
			"id": id, "from": by.wireLocked(), "message": about, "chat_instance": fmt.Sprint(9_000_000 + c.id), "data": data,
		})
	})
	return tap
}

// answerCallbackQuery: core.telegram.org/bots/api#answercallbackquery
func (r *request) answerCallbackQuery() (any, error) {
	text := r.text("text")
	c := r.s.callbacks[r.text("callback_query_id")]
	switch {
	case c == nil || now().Sub(c.at) > callbackLife:
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	case len([]rune(text)) > maxAnswer:
		return nil, bad("MESSAGE_TOO_LONG")
	}
	c.answer = &text
	return true, nil
}
