package host

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"bareclaw/sessionhost/protocol"
)

const (
	// gentleGrace is how long claude may take to end after its input is closed.
	gentleGrace = 5 * time.Second
	// termGrace is how long claude may take to end after SIGTERM; patientGrace is the same
	// when no caller waits.
	termGrace    = 300 * time.Millisecond
	patientGrace = 5 * time.Second
	// flushGrace is how long a stopping host waits for the acknowledgement of its last
	// events.
	flushGrace = time.Second
	// abandonedInterval is how often a host without claude checks whether daemons can
	// still find the host.
	abandonedInterval = 2 * time.Second
)

// The two ways to begin the end of claude.
const (
	graceful = true  // close its input, and let it finish
	prompt   = false // close its input, and send SIGTERM
)

// obey stops the host at each SIGTERM.
func (h *host) obey(signals <-chan os.Signal) {
	for range signals {
		h.stop(prompt, termGrace)
	}
}

// stop ends claude and then the host.
func (h *host) stop(gently bool, grace time.Duration) {
	h.mu.Lock()
	if !h.stopping {
		h.stopping = true
		close(h.stopped)
	}
	h.mu.Unlock()
	h.events.wakeAll()
	h.endChild(gently, grace)
}

// endChild ends claude: it closes the input, sends SIGTERM, and after the grace SIGKILL. It
// does not wait.
func (h *host) endChild(gently bool, grace time.Duration) {
	if h.child == nil {
		return
	}
	h.child.closeInput()
	go func() { // ends with claude, at SIGKILL at the latest
		if gently && h.exitsWithin(gentleGrace) {
			return
		}
		h.child.kill(syscall.SIGTERM)
		if !h.exitsWithin(grace) {
			h.child.kill(syscall.SIGKILL)
		}
	}()
}

func (h *host) exitsWithin(d time.Duration) bool {
	select {
	case <-h.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// onStartTimeout ends a claude that has not answered initialize.
func (h *host) onStartTimeout() {
	h.mu.Lock()
	late := !h.ready
	h.timedOut = h.timedOut || late
	h.mu.Unlock()
	if late {
		h.log.Error("claude did not answer initialize in time", "timeout", h.b.StartTimeout)
		h.endChild(prompt, termGrace)
	}
}

// awaitEnd returns when claude has ended and no daemon needs the events any more.
func (h *host) awaitEnd() {
	<-h.exited
	if !h.isStopping() && !h.isUnneeded() {
		go h.stopWhenAbandoned() // ends with the process at the latest
		h.events.waitEmpty(h.isStopping)
	}
	if h.isStopping() {
		h.flush()
	}
}

func (h *host) isStopping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopping
}

// isUnneeded reports whether claude was ended for idleness and no daemon needs the
// host: all events but the exit are acknowledged, or the host is a spare.
func (h *host) isUnneeded() bool {
	onlyExit := h.events.length() == 1 // before the lock: the log's mutex is never taken with the host's held
	h.mu.Lock()
	defer h.mu.Unlock()
	_, spare := protocol.SpareSlot(h.place.Load().Channel)
	return h.idle.closing && h.daemon.socket == nil && (onlyExit || spare)
}

// stopWhenAbandoned stops the host when no daemon can find it any more: the record is
// gone with the state directory.
func (h *host) stopWhenAbandoned() {
	tick := time.NewTicker(abandonedInterval)
	defer tick.Stop()
	for {
		select {
		case <-h.stopped:
			return
		case <-tick.C:
			if h.isAbandoned() {
				h.log.Warn("host stops although events are not acknowledged: its record is gone, so no daemon can find it")
				h.stop(prompt, termGrace)
				return
			}
		}
	}
}

func (h *host) isAbandoned() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := os.Stat(h.place.Load().RecordPath)
	return h.daemon.socket == nil && errors.Is(err, fs.ErrNotExist)
}

// flush gives a connected daemon a moment to acknowledge the last events.
func (h *host) flush() {
	late := time.Now().Add(flushGrace)
	time.AfterFunc(flushGrace, h.events.wakeAll)
	h.events.waitEmpty(func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.daemon.socket == nil || !time.Now().Before(late)
	})
}
