package host

import (
	"encoding/json"
	"strings"
	"time"

	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// maxBadBytes is how much is kept of a line that is no JSON object.
const maxBadBytes = 256

// heard takes up one line of claude's output: it is kept for the daemon, and the
// host notes what it must know itself. more says that another line follows at
// once.
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
	h.trackIdle(ev)
	switch ev.Type {
	case claude.TypeControlRequest:
		if !h.onControlRequest(ev) {
			h.sendLog()
			return // answered here
		}
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
	at := time.Now()
	encode := func(seq uint64) []byte { return protocol.EncodeEvent(seq, at, ev.Raw) }
	if step, ok := stepOf(ev); ok {
		err = h.events.appendStep(step, encode)
	} else {
		err = h.events.append(ev.Type == claude.TypeStreamEvent, encode)
	}
	if err != nil {
		h.log.Error("event not kept", "err", err)
	}
	if !more {
		h.sendLog()
	}
}

func badLine(line claude.Line) string {
	text := strings.ToValidUTF8(string(line.Bytes[:min(len(line.Bytes), maxBadBytes)]), "\uFFFD")
	if line.TooLong || len(line.Bytes) > maxBadBytes {
		text += "…"
	}
	return text
}

// asked notes a permission request. Any other request of claude's is answered
// with an error at once: an unanswered one would block the turn for ever.
func (h *host) onControlRequest(ev claude.Event) (pass bool) {
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
	if _, known := h.requests[r.RequestID]; !known {
		h.order = append(h.order, r.RequestID)
	}
	h.requests[r.RequestID] = append(json.RawMessage(nil), ev.Raw...)
	return true
}

// forgetRequest reports whether the request was waiting for an answer.
func (h *host) forgetRequest(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.requests[id]; !ok {
		return false
	}
	delete(h.requests, id)
	for i, other := range h.order {
		if other == id {
			h.order = append(h.order[:i:i], h.order[i+1:]...)
			break
		}
	}
	return true
}

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
