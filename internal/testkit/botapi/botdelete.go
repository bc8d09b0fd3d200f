package botapi

import "time"

// deletable is how long after sending a bot may delete:
// core.telegram.org/bots/api#deletemessage
const deletable = 48 * time.Hour

// deleteMessage: core.telegram.org/bots/api#deletemessage. In a group the bot,
// no administrator, deletes only what it sent itself.
func (r *request) deleteMessage() (any, error) {
	c := r.chat()
	m := c.messages[int(r.integer("message_id"))]
	switch {
	case m == nil || m.deleted:
		return nil, bad("message to delete not found")
	case m.from != r.s.bot && c.kind != private:
		return nil, bad("message can't be deleted")
	case r.s.opts.now().Sub(m.date) > deletable:
		return nil, bad("message can't be deleted for everyone")
	}
	m.deleted = true
	r.call.Message = m.id
	r.s.changedLocked()
	return true, nil
}
