package botapi

import (
	"bytes"
	"time"
)

const (
	maxText    = 4096 // core.telegram.org/bots/api#sendmessage
	maxCaption = 1024 // core.telegram.org/bots/api#sendphoto
	// deletable is how long after sending a bot may delete:
	// core.telegram.org/bots/api#deletemessage
	deletable = 48 * time.Hour
)

// sendMessage: core.telegram.org/bots/api#sendmessage
func (r *request) sendMessage() (any, error) {
	text, entities := r.messageText()
	return r.post(Message{Text: text, Entities: entities})
}

// messageText reads the text of a message, which may not be empty.
func (r *request) messageText() (string, []Entity) {
	if r.text("text") == "" {
		panic(bad("message text is empty"))
	}
	text, entities := r.formatted("text", "entities", maxText, "message is too long")
	if text == "" {
		panic(bad("text must be non-empty"))
	}
	return text, entities
}

// post puts a message of the bot into the chat.
func (r *request) post(of Message) (any, error) {
	c := r.chat()
	m := &stored{Message: of, from: r.s.bot, markup: r.markup()}
	m.Thread, m.ReplyTo = r.thread(c), r.replyTo(c)
	r.s.addLocked(c, m)
	delete(c.drafts, m.Thread) // the message takes the draft's place
	delete(c.actions, m.Thread)
	r.call.Message = m.ID
	return c.wireMessageLocked(m, true), nil
}

// replyTo checks reply_parameters, in so far as they name a message of the chat.
func (r *request) replyTo(c *chat) int {
	var reply struct {
		MessageID int  `json:"message_id"`
		Without   bool `json:"allow_sending_without_reply"`
	}
	r.decode("reply_parameters", &reply)
	if m := c.messages[reply.MessageID]; m != nil && !m.deleted {
		return reply.MessageID
	}
	if reply.MessageID != 0 && !reply.Without {
		panic(bad("message to be replied not found"))
	}
	return 0
}

// editMessageText: core.telegram.org/bots/api#editmessagetext. Without reply_markup the
// buttons go.
func (r *request) editMessageText() (any, error) {
	text, entities := r.messageText()
	c := r.chat()
	m := c.messages[int(r.integer("message_id"))]
	switch {
	case m == nil || m.deleted:
		return nil, bad("message to edit not found")
	case m.from != r.s.bot:
		return nil, bad("message can't be edited")
	case m.Media != nil:
		return nil, bad("there is no text in the message to edit")
	}
	markup := r.markup()
	same := func(a, b any) bool { return bytes.Equal(encode(a), encode(b)) }
	if m.Text == text && same(m.Entities, entities) && same(m.markup, markup) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.Text, m.Entities, m.markup, m.edited = text, entities, markup, now()
	m.Edits++
	return c.wireMessageLocked(m, true), nil
}

// deleteMessage: core.telegram.org/bots/api#deletemessage. In a group the bot, no
// administrator, deletes only what it sent itself.
func (r *request) deleteMessage() (any, error) {
	c := r.chat()
	m := c.messages[int(r.integer("message_id"))]
	switch {
	case m == nil || m.deleted:
		return nil, bad("message to delete not found")
	case m.from != r.s.bot && c.kind != private:
		return nil, bad("message can't be deleted")
	case now().Sub(m.Date) > deletable:
		return nil, bad("message can't be deleted for everyone")
	}
	m.deleted = true
	return true, nil
}
