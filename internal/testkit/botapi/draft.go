package botapi

import (
	"fmt"
	"time"
)

// draftLife: core.telegram.org/bots/api#sendmessagedraft
const draftLife = 30 * time.Second

// draft is a text the bot is still writing. It may stay known after it was
// stopped, so that what comes later is not shown.
type draft struct {
	Draft
	shown   time.Time
	stopped bool
}

// A Draft is what the user sees of a message the bot is writing.
type Draft struct {
	ID       int64
	Thread   int
	Text     string // "" is shown as "Thinking…"
	Entities []Entity
	CanStop  bool // there is a Stop button
	Updates  int  // how often it was sent
}

// sendMessageDraft: core.telegram.org/bots/api#sendmessagedraft. What becomes of
// drafts after the Stop button is not documented: here they are accepted and
// not shown.
func (r *request) sendMessageDraft() (any, error) {
	text, entities := r.formatted("text", "entities")
	if length(text) > maxText {
		return nil, bad("message is too long")
	}
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
		d = &draft{Draft: Draft{ID: id, Thread: thread}}
		c.drafts[thread] = d
	}
	if d.stopped {
		return true, nil
	}
	d.Text, d.Entities, d.CanStop = text, entities, r.boolean("can_stop")
	d.Updates++
	d.shown = r.s.opts.now()
	return true, nil
}

// visibleLocked reports whether the user sees the draft now.
func (d *draft) visibleAt(now time.Time) bool {
	return d != nil && now.Sub(d.shown) < draftLife && !d.stopped
}

// Draft returns what the bot is writing in the thread, 0 for none, and false if
// nothing is shown there.
func (c *Chat) Draft(thread int) (Draft, bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	state := c.s.chats[c.id]
	if state == nil || !state.drafts[thread].visibleAt(c.s.opts.now()) {
		return Draft{}, false
	}
	return state.drafts[thread].Draft, true
}

// StopDraft presses the Stop button of the draft in the thread and returns the
// id of the update. The test ends if there is no such button.
func (c *Chat) StopDraft(thread int) int64 {
	var update int64
	c.change(func(state *chat) error {
		d := state.drafts[thread]
		if !d.visibleAt(c.s.opts.now()) || !d.CanStop || d.stopped {
			return fmt.Errorf("nobody sees a draft with a Stop button in chat %d, thread %d", c.id, thread)
		}
		d.stopped, d.CanStop = true, false
		body := object{"chat": state.wireLocked(), "draft_id": d.ID}
		if thread != 0 {
			body["message_thread_id"] = thread
		}
		update = c.s.pushLocked("stopped_message_generation", body)
		return nil
	})
	return update
}
