package host

import (
	"math"
	"time"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
)

// An idleTracker knows since when claude has been idle, and how long an idle claude is
// kept while no daemon is connected. The host's mutex guards it.
type idleTracker struct {
	timeout    time.Duration       // 0: an idle claude is kept for ever
	timer      *time.Timer         // calls host.endIdle; nil before claude has started
	since      time.Time           // of the last line to or from claude, or of the last daemon's leaving
	unfinished map[string]struct{} // turns that claude was given and has not finished
	activity   core.Activity       // claude's work beside these turns
	closing    bool                // claude is being ended because it was idle
}

// observe notes what an event of claude says of its work.
func (t *idleTracker) observe(ev claude.Event, now time.Time) {
	t.since = now
	switch ev.Type {
	case claude.TypeLifecycle:
		if l, err := ev.Lifecycle(); err == nil && l.Done() {
			delete(t.unfinished, l.UUID)
		}
	case claude.TypeAssistant, claude.TypeStreamEvent:
		if !ev.Subagent {
			t.activity.Speaks(len(t.unfinished) > 0)
		}
	case claude.TypeResult:
		t.activity.TurnEnds()
	case claude.TypeSystem:
		if n, ok := ev.BackgroundTasks(); ok {
			t.activity.SetTasks(n, now)
		}
	}
}

// turnHanded notes that claude was given a turn.
func (t *idleTracker) turnHanded(turn string, now time.Time) {
	if t.unfinished == nil {
		t.unfinished = map[string]struct{}{}
	}
	t.unfinished[turn] = struct{}{}
	t.since = now
}

// restart counts the idle time from now on.
func (t *idleTracker) restart(now time.Time) {
	t.since = now
	if t.timer != nil && t.timeout > 0 {
		t.timer.Reset(t.timeout)
	}
}

// due returns when an idle claude is to be ended. A claude that works or waits for
// somebody is looked at again after another timeout.
func (t *idleTracker) due(waiting bool, now time.Time) time.Time {
	if waiting || len(t.unfinished) > 0 || t.activity.Busy() {
		return now.Add(t.timeout)
	}
	due := t.since.Add(t.timeout)
	if due.Before(t.activity.NewsUntil) {
		return t.activity.NewsUntil
	}
	return due
}

// startIdleTimer starts to measure. The timer runs also while a daemon is connected, and
// looks for one when it fires.
func (h *host) startIdleTimer() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle.timeout = h.b.IdleTimeout
	h.idle.timer = time.AfterFunc(math.MaxInt64, h.endIdle) // restart sets the time
	h.idle.restart(time.Now())
}

// setIdleTimeout takes the timeout of a daemon's hello: 0 changes nothing, and a negative
// one means for ever.
func (h *host) setIdleTimeout(timeout time.Duration) {
	if timeout == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle.timeout = max(timeout, 0)
}

// endIdle ends a claude that has been idle for the timeout while no daemon was connected.
// Its input is closed with the mutex held: a turn of a daemon that connects meanwhile
// either counts as work, or never reaches claude and is run by the next process.
func (h *host) endIdle() {
	select {
	case <-h.exited:
		return
	default:
	}
	h.mu.Lock()
	t := &h.idle
	if h.daemon.socket != nil || h.stopping || t.closing || t.timeout <= 0 {
		h.mu.Unlock()
		return // the timer is started again when the daemon leaves
	}
	now := time.Now()
	if wait := t.due(!h.ready || h.requests.len() > 0, now).Sub(now); wait > 0 {
		t.timer.Reset(wait)
		h.mu.Unlock()
		return
	}
	t.closing = true
	h.child.closeInput()
	h.mu.Unlock()
	h.log.Info("idle claude is ended, no daemon is connected", "timeout", t.timeout)
	h.endChild(graceful, patientGrace)
}
