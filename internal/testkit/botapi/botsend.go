package botapi

// sendMessage: core.telegram.org/bots/api#sendmessage
func (r *request) sendMessage() (any, error) {
	text, entities, err := r.messageText()
	if err != nil {
		return nil, err
	}
	return r.post(&stored{text: text, entities: entities})
}

// messageText reads the text of a message, which may not be empty.
func (r *request) messageText() (string, []Entity, error) {
	if r.text("text") == "" {
		return "", nil, bad("message text is empty")
	}
	text, entities, err := r.formatted("text", "entities")
	switch {
	case err != nil:
		return "", nil, err
	case text == "":
		return "", nil, bad("text must be non-empty")
	case length(text) > maxText:
		return "", nil, bad("message is too long")
	}
	return text, entities, nil
}

// caption reads the text below a file.
func (r *request) caption() (string, []Entity, error) {
	text, entities, err := r.formatted("caption", "caption_entities")
	if err == nil && length(text) > maxCaption {
		err = bad("message caption is too long")
	}
	return text, entities, err
}

// post puts a message of the bot into the chat.
func (r *request) post(m *stored) (any, error) {
	c, err := r.chat()
	if err != nil {
		return nil, err
	}
	if m.thread, err = r.thread(c); err != nil {
		return nil, err
	}
	if m.markup, err = r.markup(); err != nil {
		return nil, err
	}
	if m.replyTo, err = r.replyTo(c); err != nil {
		return nil, err
	}
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
func (r *request) replyTo(c *chat) (int, error) {
	var reply struct {
		MessageID int  `json:"message_id"`
		Without   bool `json:"allow_sending_without_reply"`
	}
	given, err := r.decode("reply_parameters", &reply)
	switch {
	case err != nil:
		return 0, bad("can't parse reply parameters JSON object")
	case !given:
		return 0, nil
	}
	if m := c.messages[reply.MessageID]; m != nil && !m.deleted {
		return reply.MessageID, nil
	}
	if reply.Without {
		return 0, nil
	}
	return 0, bad("message to be replied not found")
}
