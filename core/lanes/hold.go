package lanes

import (
	"time"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

const (
	// firstHold is the first pause before the lane tries again to start an agent that cannot be
	// started now. The pauses double up to longestHold.
	firstHold   = 250 * time.Millisecond
	longestHold = 5 * time.Second
	// tellHold is the number of failed starts after which the channel is told: a shorter hold
	// is not worth a word.
	tellHold = 3
	// forgetHold is how long after its last pause a hold has nothing to do with the next one.
	forgetHold = time.Minute
)

// A hold keeps the channel's turns from an agent that cannot be started now, and may be later:
// its program is being replaced, or the machine lacks something. The turns stay as they are, and
// run once the agent has started; a start that fails for good ends them.
type hold struct {
	why    string       // for a person
	starts wait.Backoff // failed starts, and the pauses after them
	until  time.Time    // the next start
}

// hold postpones the next start of a session. why is for a person.
func (ts *turns) hold(why string) {
	h := ts.conv.held
	if h == nil || time.Since(h.until) > forgetHold {
		h = &hold{starts: wait.Backoff{First: firstHold, Most: longestHold}}
		ts.conv.held = h
	}
	h.why = why
	pause := h.starts.Next()
	h.until = time.Now().Add(pause)
	ts.after(pause, func() {}) // the lane then looks again at what it can do
	switch h.starts.Failures() {
	case 1:
		ts.log.Warn("session cannot be started now, the turn waits", "why", why)
	case tellHold:
		ts.tellHeld()
	}
}

// tellHeld reports the hold to the channel, and in the timeline of the turn that waits.
func (ts *turns) tellHeld() {
	f := ts.running()
	if f == nil {
		return
	}
	f.mark(ts.now(), "held", ts.conv.held.why)
	ts.publish(core.Update{Kind: core.UpdateHeld, Turn: f.turn.ID, Messages: f.turn.Members, Detail: ts.conv.held.why})
}

// isHeld reports whether a hold keeps the lane from starting a session now.
func (cv *conversation) isHeld() bool { return cv.held != nil && time.Now().Before(cv.held.until) }

// waitsFor returns what the channel's turn waits for, also while the start is being tried; empty
// without a hold.
func (cv *conversation) waitsFor() string {
	if cv.held == nil {
		return ""
	}
	return cv.held.why
}
