package botapi

// sendMessage: core.telegram.org/bots/api#sendmessage
func (r *request) sendMessage() (any, error) {
	text, entities := r.messageText()
	return r.post(&stored{text: text, entities: entities})
}

// messageText reads the text of a message, which may not be empty.
func (r *request) messageText() (string, []Entity) {
	if r.text("text") == "" {
		panic(bad("message text is empty"))
	}
	text, entities := r.formatted("text", "entities")
	switch {
	case text == "":
		panic(bad("text must be non-empty"))
	case length(text) > maxText:
		panic(bad("message is too long"))
	}
	return text, entities
}

// caption reads the text below a file.
func (r *request) caption() (string, []Entity) {
	text, entities := r.formatted("caption", "caption_entities")
	if length(text) > maxCaption {
		panic(bad("message caption is too long"))
	}
	return text, entities
}

// post puts a message of the bot into the chat.
func (r *request) post(m *stored) (any, error) {
	c := r.chat()
	m.thread = r.thread(c)
	m.markup = r.markup()
	m.replyTo = r.replyTo(c)
	for _, name := range []string{"disable_notification", "protect_content"} {
		r.boolean(name) // nobody sees it; only the form is checked
	}
	m.from = r.s.bot
	r.s.addLocked(c, m)
	delete(c.drafts, m.thread) // the message takes the draft's place
	delete(c.actions, m.thread)
	r.call.Message = m.id
	return r.s.wireLocked(c, m), nil
}

// replyTo checks reply_parameters, in so far as they name a message of the chat.
func (r *request) replyTo(c *chat) int {
	var reply struct {
		MessageID int  `json:"message_id"`
		Without   bool `json:"allow_sending_without_reply"`
	}
	given, err := r.decode("reply_parameters", &reply)
	switch {
	case err != nil:
		panic(bad("can't parse reply parameters JSON object"))
	case !given:
		return 0
	}
	if m := c.messages[reply.MessageID]; m != nil && !m.deleted {
		return reply.MessageID
	}
	if reply.Without {
		return 0
	}
	panic(bad("message to be replied not found"))
}
