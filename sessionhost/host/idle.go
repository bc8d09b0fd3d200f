package host

import (
	"math"
	"time"

	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// newsGrace is how long claude may take to begin its own turn about a background task
// that has ended: the first word comes from the API.
const newsGrace = 30 * time.Second

// An idleTracker knows since when claude has been idle, and how long an idle claude is
// kept while there is no daemon. The host's mutex guards it.
type idleTracker struct {
	timeout    time.Duration       // 0: an idle claude is kept for ever
	timer      *time.Timer         // calls host.endIdle; nil before claude has started
	since      time.Time           // when claude last read or wrote a line, or the last daemon left
	unfinished map[string]struct{} // turns that claude was given and is not done with
	ownTurn    bool                // claude works of its own accord, as on the news of a background task
	newsUntil  time.Time           // until when such a turn may begin
	closing    bool                // claude is being ended because it was idle
}

// startIdleTimer begins to measure. A daemon that is attached stops nothing: the timer
// looks for one when it fires.
func (h *host) startIdleTimer() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle.timeout = h.b.IdleTimeout
	h.idle.timer = time.AfterFunc(math.MaxInt64, h.endIdle) // until it is known when
	h.restartIdleTimerLocked()
}

// restartIdleTimerLocked counts the idle time from now on. The mutex is held.
func (h *host) restartIdleTimerLocked() {
	h.idle.since = time.Now()
	if h.idle.timer != nil && h.idle.timeout > 0 {
		h.idle.timer.Reset(h.idle.timeout)
	}
}

// setIdleTimeout takes over the timeout of a daemon's hello: 0 says nothing, as with a
// daemon that knows no timeout of hosts, and a negative one means for ever.
func (h *host) setIdleTimeout(timeout time.Duration) {
	if timeout == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle.timeout = max(timeout, 0)
}

// givenTurnLocked notes that claude was given a turn. The mutex is held.
func (h *host) turnHandedLocked(turn string) {
	if h.idle.unfinished == nil {
		h.idle.unfinished = map[string]struct{}{}
	}
	h.idle.unfinished[turn] = struct{}{}
	h.idle.since = time.Now()
}

// trackIdle takes up what an event of claude says of its work.
func (h *host) trackIdle(ev claude.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := &h.idle
	i.since = time.Now()
	switch ev.Type {
	case claude.TypeLifecycle:
		if l, err := ev.Lifecycle(); err == nil && l.Done() {
			delete(i.unfinished, l.UUID)
		}
	case claude.TypeAssistant, claude.TypeStreamEvent:
		i.ownTurn = len(i.unfinished) == 0
	case claude.TypeResult:
		i.ownTurn, i.newsUntil = false, time.Time{}
	case claude.TypeSystem:
		n, ok := ev.BackgroundTasks()
		if !ok {
			return
		}
		if h.tasks > 0 && n == 0 {
			i.newsUntil = i.since.Add(newsGrace)
		}
		h.tasks = n
	}
}

// busyLocked reports whether claude has work, or waits for somebody. The mutex is held.
func (h *host) busyLocked() bool {
	return !h.ready || len(h.idle.unfinished) > 0 || h.idle.ownTurn || len(h.requests) > 0 || h.tasks > 0
}

// endIdle ends a claude that has been idle for the timeout while no daemon was there.
// Its input is closed with the mutex held: a turn of a daemon that attaches meanwhile
// either counts as work, or never reaches claude, and is run by its next process.
func (h *host) endIdle() {
	select {
	case <-h.exited:
		return
	default:
	}
	h.mu.Lock()
	i := &h.idle
	if h.client != nil || h.stopping || i.closing || i.timeout <= 0 {
		h.mu.Unlock()
		return // the timer is started again when the daemon leaves
	}
	due := i.since.Add(i.timeout)
	if due.Before(i.newsUntil) {
		due = i.newsUntil
	}
	if h.busyLocked() {
		due = time.Now().Add(i.timeout)
	}
	if wait := time.Until(due); wait > 0 {
		i.timer.Reset(wait)
		h.mu.Unlock()
		return
	}
	i.closing = true
	h.child.closeInput()
	h.mu.Unlock()
	h.log.Info("claude is ended: it was idle, and no daemon is there", "timeout", i.timeout)
	h.endChild(true, true)
}

// isUnneeded reports whether no daemon needs the host of a claude that was ended because
// it was idle: everything but its end was acknowledged, or it was a spare's.
func (h *host) isUnneeded() bool {
	onlyExit := h.events.length() == 1 // the log's mutex is never taken with the host's held
	h.mu.Lock()
	defer h.mu.Unlock()
	_, spare := protocol.SpareSlot(h.place.Load().Channel)
	return h.idle.closing && h.client == nil && (onlyExit || spare)
}
