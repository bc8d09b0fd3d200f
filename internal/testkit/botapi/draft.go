package botapi

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	draftLife  = 30 * time.Second // core.telegram.org/bots/api#sendmessagedraft
	actionLife = 5 * time.Second  // core.telegram.org/bots/api#sendchataction
)

// A Draft is what the user sees of a message the bot is writing.
type Draft struct {
	ID      int64
	Text    string // "" is shown as "Thinking…"
	CanStop bool   // there is a Stop button
	Updates int    // how often it was sent
}

// draft is a text the bot is still writing. It may stay known after it was stopped, so
// that what comes later is not shown.
type draft struct {
	Draft
	shown   time.Time
	stopped bool
}

// sendMessageDraft: core.telegram.org/bots/api#sendmessagedraft. What becomes of drafts
// after the Stop button is not documented: here they are accepted and not shown.
func (r *request) sendMessageDraft() (any, error) {
	text, _ := r.formatted("text", "entities", maxText, "message is too long")
	c := r.chat()
	id := r.integer("draft_id")
	switch {
	case c.kind != private:
		return nil, bad("TEXTDRAFT_PEER_INVALID")
	case id == 0:
		return nil, bad("RANDOM_ID_INVALID")
	}
	thread := r.thread(c)
	d := c.drafts[thread]
	if d == nil || d.ID != id {
		d = &draft{Draft: Draft{ID: id}}
		c.drafts[thread] = d
	}
	if !d.stopped {
		d.Text, d.CanStop, d.shown = text, r.text("can_stop") == "true", now()
		d.Updates++
	}
	return true, nil
}

// Draft returns what the bot is writing in the thread, 0 for none, and false if nothing is
// shown there.
func (c *Chat) Draft(thread int) (Draft, bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	state := c.s.chats[c.id]
	if state == nil {
		return Draft{}, false
	}
	d := state.drafts[thread]
	if d == nil || d.stopped || now().Sub(d.shown) >= draftLife {
		return Draft{}, false
	}
	return d.Draft, true
}

// StopDraft presses the Stop button of the draft in the thread. The test ends if there is
// no such button.
func (c *Chat) StopDraft(thread int) {
	if d, ok := c.Draft(thread); !ok || !d.CanStop {
		c.s.must(fmt.Errorf("nobody sees a draft with a Stop button in chat %d, thread %d", c.id, thread))
	}
	c.change(func(state *chat) {
		state.drafts[thread].stopped = true
		body := object{"chat": state.wireLocked(), "draft_id": state.drafts[thread].ID}
		if thread != 0 {
			body["message_thread_id"] = thread
		}
		c.s.pushLocked("stopped_message_generation", body)
	})
}

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
	c.actions[r.thread(c)] = action{name: name, at: now()}
	return true, nil
}

// Action returns what the bot is shown to do in the thread, "typing" for instance, and ""
// if nothing. It lasts 5 s, or until the next message.
func (c *Chat) Action(thread int) string {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	state := c.s.chats[c.id]
	if state == nil || now().Sub(state.actions[thread].at) >= actionLife {
		return ""
	}
	return state.actions[thread].name
}
