package host

import (
	"strings"
	"time"

	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// maxBadBytes bounds the kept beginning of a line without a JSON object.
const maxBadBytes = 256

// onOutput keeps one line of claude's output for the daemon, and updates the host's own
// state. more says that another line follows at once.
func (h *host) onOutput(line claude.Line, more bool) {
	if line.TooLong {
		h.appendOwn(protocol.Entry{Bad: badLine(line)})
		return
	}
	ev, err := claude.Decode(line.Bytes)
	if err != nil {
		h.appendOwn(protocol.Entry{Bad: badLine(line)})
		return
	}
	at := time.Now()
	if h.observe(ev, at) {
		h.keep(ev, at)
	}
	if !more {
		h.sendLog()
	}
}

// observe updates the host's own state, and reports whether the event is for the daemon.
func (h *host) observe(ev claude.Event, at time.Time) (forDaemon bool) {
	h.mu.Lock()
	h.idle.observe(ev, at)
	h.mu.Unlock()
	switch ev.Type {
	case claude.TypeControlRequest:
		return h.onControlRequest(ev)
	case claude.TypeCancelRequest:
		if id, err := ev.CancelRequest(); err == nil {
			h.forgetRequest(id)
		}
	case claude.TypeControlResponse:
		h.onControlResponse(ev)
	case claude.TypeLifecycle, claude.TypeStreamEvent, claude.TypeAssistant:
		if err := h.tools.observe(ev); err != nil {
			h.log.Error("tool call not noted", "err", err)
		}
	}
	return true
}

// keep adds the event to the log.
func (h *host) keep(ev claude.Event, at time.Time) {
	encode := func(seq uint64) []byte { return protocol.EncodeEvent(seq, at, ev.Raw) }
	var err error
	if step, ok := stepOf(ev); ok {
		err = h.events.appendStep(step, encode)
	} else {
		err = h.events.append(ev.Type == claude.TypeStreamEvent, encode)
	}
	if err != nil {
		h.log.Error("event not kept", "err", err)
	}
}

// badLine returns the beginning of a line without a JSON object.
func badLine(line claude.Line) string {
	text := strings.ToValidUTF8(string(line.Bytes[:min(len(line.Bytes), maxBadBytes)]), "\uFFFD")
	if line.TooLong || len(line.Bytes) > maxBadBytes {
		text += "…"
	}
	return text
}

// onControlRequest keeps a permission request for the daemon to answer. Any other request
// is answered with an error at once, because an unanswered request blocks the turn for ever.
func (h *host) onControlRequest(ev claude.Event) (forDaemon bool) {
	r, err := ev.ControlRequest()
	if err != nil {
		return true
	}
	if !r.IsPermission() {
		h.child.send(claude.ErrorLine(r.RequestID, "not supported by this gateway: "+r.Subtype), true)
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests.add(r.RequestID, ev.Raw)
	return true
}

// forgetRequest reports whether the request was waiting for an answer.
func (h *host) forgetRequest(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests.remove(id)
}

// onControlResponse notes that claude has answered initialize: turns may be written.
func (h *host) onControlResponse(ev claude.Event) {
	r, err := ev.ControlResponse()
	if err != nil || r.RequestID != initializeID {
		return
	}
	h.mu.Lock()
	first := !h.ready
	h.ready = true
	h.mu.Unlock()
	if first {
		h.child.setReady()
		h.appendOwn(protocol.Entry{Ready: true})
	}
}
