package botapi

import (
	"fmt"
	"time"
)

const (
	// callbackLife is our choice: Telegram says only that the client shows a
	// progress bar until the bot answers, and refuses late answers.
	callbackLife = 30 * time.Second
	maxAnswer    = 200 // characters: core.telegram.org/bots/api#answercallbackquery
)

// callback is a tap that may be answered.
type callback struct {
	at     time.Time
	answer *Answer
}

// An Answer is what the user is shown after a tap.
type Answer struct{ Text string }

// A Tap is a press on a button.
type Tap struct {
	UpdateID int64
	ID       string // of the callback query
	s        *Server
}

// Answer returns what the bot answered, and false as long as it did not.
func (t Tap) Answer() (Answer, bool) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	a := t.s.callbacks[t.ID].answer
	if a == nil {
		return Answer{}, false
	}
	return *a, true
}

// Tap presses a button below a message of the chat.
func (c *Chat) Tap(by *User, messageID int, button string) Tap {
	var tap Tap
	c.change(func(state *chat) error {
		m, err := state.visible(messageID)
		if err != nil {
			return err
		}
		b, err := m.markup.find(button)
		if err != nil {
			return fmt.Errorf("message %d of chat %d: %w", messageID, c.id, err)
		}
		tap = c.s.tapLocked(state, m, by, b.Data)
		return nil
	})
	return tap
}

// TapStale sends a callback query for data that no button has any more, as a
// phone does that has not seen the last edit.
func (c *Chat) TapStale(by *User, messageID int, data string) Tap {
	var tap Tap
	c.change(func(state *chat) error {
		m := state.messages[messageID]
		if m == nil {
			return fmt.Errorf("chat %d has no message %d", c.id, messageID)
		}
		tap = c.s.tapLocked(state, m, by, data)
		return nil
	})
	return tap
}

func (s *Server) tapLocked(c *chat, m *stored, by *User, data string) Tap {
	tap := Tap{s: s, ID: fmt.Sprintf("%d", 4_000_000_000_000+len(s.callbacks))}
	s.callbacks[tap.ID] = &callback{at: s.opts.now()}
	about := s.wireLocked(c, m)
	if m.deleted {
		about = object{"chat": c.wireLocked(), "message_id": m.id, "date": 0}
	}
	tap.UpdateID = s.pushLocked("callback_query", object{
		"id": tap.ID, "from": by.wireLocked(), "message": about, "chat_instance": fmt.Sprintf("%d", 9_000_000+c.id), "data": data,
	})
	return tap
}

// visible finds a message a user can see.
func (c *chat) visible(id int) (*stored, error) {
	m := c.messages[id]
	if m == nil || m.deleted {
		return nil, fmt.Errorf("nobody sees a message %d in chat %d", id, c.id)
	}
	return m, nil
}

// answerCallbackQuery: core.telegram.org/bots/api#answercallbackquery
func (r *request) answerCallbackQuery() (any, error) {
	text := r.text("text")
	c := r.s.callbacks[r.text("callback_query_id")]
	switch {
	case c == nil || r.s.opts.now().Sub(c.at) > callbackLife:
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	case len([]rune(text)) > maxAnswer:
		return nil, bad("MESSAGE_TOO_LONG")
	}
	c.answer = &Answer{Text: text}
	return true, nil
}
