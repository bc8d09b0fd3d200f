package botapi

import "bytes"

// unchanged is the answer to an edit that changes nothing.
func unchanged() *apiError {
	return bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
}

// own finds the message of the bot that a call wants to edit.
func (r *request) own() (*chat, *stored) {
	c := r.chat()
	m := c.messages[int(r.integer("message_id"))]
	switch {
	case m == nil || m.deleted:
		panic(bad("message to edit not found"))
	case m.from != r.s.bot:
		panic(bad("message can't be edited"))
	}
	r.call.Message = m.id
	return c, m
}

// editMessageText: core.telegram.org/bots/api#editmessagetext. Without
// reply_markup the buttons go.
func (r *request) editMessageText() (any, error) {
	text, entities := r.messageText()
	c, m := r.own()
	if m.media != nil {
		return nil, bad("there is no text in the message to edit")
	}
	return r.edit(c, m, text, entities)
}

// edit changes the message and leaves a trace of it.
func (r *request) edit(c *chat, m *stored, text string, entities []Entity) (any, error) {
	markup := r.markup()
	if markup != nil && len(markup.Inline) == 0 {
		markup = nil
	}
	if m.text == text && same(m.entities, entities) && same(m.markup, markup) {
		return nil, unchanged()
	}
	m.text, m.entities, m.markup = text, entities, markup
	m.edited = r.s.opts.now()
	m.edits++
	r.s.changedLocked()
	return r.s.wireLocked(c, m), nil
}

// same compares two values as JSON.
func same(a, b any) bool { return bytes.Equal(encode(a), encode(b)) }
