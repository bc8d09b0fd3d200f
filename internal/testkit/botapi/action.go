package botapi

import (
	"slices"
	"strings"
	"time"
)

// actionLife: core.telegram.org/bots/api#sendchataction
const actionLife = 5 * time.Second

// action is a status such as typing.
type action struct {
	name string
	at   time.Time
}

const actions = "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker find_location record_video_note upload_video_note"

// sendChatAction: core.telegram.org/bots/api#sendchataction
func (r *request) sendChatAction() (any, error) {
	name := r.text("action")
	if !slices.Contains(strings.Fields(actions), name) {
		return nil, bad("wrong parameter action in request")
	}
	c := r.chat()
	thread := r.thread(c)
	c.actions[thread] = action{name: name, at: r.s.opts.now()}
	return true, nil
}

// Action returns what the bot is shown to do in the thread, "typing" for
// instance, and "" if nothing. It lasts 5 s, or until the next message.
func (c *Chat) Action(thread int) string {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	state := c.s.chats[c.id]
	if state == nil || c.s.opts.now().Sub(state.actions[thread].at) >= actionLife {
		return ""
	}
	return state.actions[thread].name
}
