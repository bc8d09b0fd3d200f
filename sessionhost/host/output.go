package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/pipe"
	"bareclaw/sessionhost/protocol"
)

// maxBadBytes bounds the kept beginning of a line without a JSON object.
const maxBadBytes = 256

func (h *host) readOutput() {
	lines := claude.NewReader(h.child, maxLineBytes)
	for {
		line, err := lines.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				h.log.Info("claude's output ended", "err", err)
			}
			return
		}
		h.onOutput(line, lines.More())
	}
}

// onOutput keeps one line of claude's output for the daemon, and updates the host's own
// state. more says that another line follows at once.
func (h *host) onOutput(line claude.Line, more bool) {
	ev, err := claude.Decode(line.Bytes)
	if line.TooLong || err != nil {
		h.appendOwn(protocol.Entry{Bad: badLine(line)})
		return
	}
	at := time.Now()
	if h.observe(&ev, at) {
		h.keep(&ev, at)
	}
	switch {
	case more:
	case isUrgent(&ev):
		h.sendLog()
	default:
		h.sendLogSoon()
	}
}

// isUrgent reports whether a client waits for the event: the end of a turn, and whatever
// needs an answer.
func isUrgent(ev *claude.Event) bool {
	switch ev.Type {
	case claude.TypeResult, claude.TypeControlRequest, claude.TypeCancelRequest, claude.TypeControlResponse:
		return true
	}
	_, phase := ev.Lifecycle()
	return phase.Done()
}

func (h *host) observe(ev *claude.Event, at time.Time) (forDaemon bool) {
	h.mu.Lock()
	ownTurn := h.idle.observe(ev, at) && h.daemon == nil
	h.mu.Unlock()
	if ownTurn {
		h.endOwnTurn()
	}
	switch ev.Type {
	case claude.TypeControlRequest:
		return h.onControlRequest(ev, at)
	case claude.TypeCancelRequest:
		h.forgetRequest(ev.CancelRequest())
	case claude.TypeControlResponse:
		h.onControlResponse(ev)
	case claude.TypeLifecycle, claude.TypeStreamEvent, claude.TypeAssistant:
		if err := h.tools.observe(ev); err != nil {
			h.log.Error("tool call not noted", "err", err)
		}
	}
	return true
}

func (h *host) keep(ev *claude.Event, at time.Time) {
	err := h.events.append(ev.Type == claude.TypeStreamEvent, stepOf(ev), func(b []byte, seq uint64) []byte {
		return protocol.AppendEvent(b, seq, at, ev.Raw)
	})
	if err != nil {
		h.log.Error("event not kept", "err", err)
	}
}

func (h *host) appendOwn(e protocol.Entry) {
	e.At = time.Now().UnixMicro()
	err := h.events.append(false, nil, func(b []byte, seq uint64) []byte {
		e.Seq = seq
		return append(b, protocol.EncodeEntry(e)...)
	})
	if err != nil {
		h.log.Error("event not kept", "err", err)
	}
	h.sendLog()
}

// sendDelay is how long the events of a running turn wait for others to travel with: each
// write wakes the daemon, and no person sees the difference.
const sendDelay = 20 * time.Millisecond

func (h *host) sendLogSoon() {
	if !h.sendsSoon.Swap(true) {
		h.sendTimer.Reset(sendDelay)
	}
}

func (h *host) sendLog() {
	h.sendTimer.Stop()
	h.sendsSoon.Store(false) // after Stop, which must not end a timer that is set meanwhile
	var w *pipe.Writer
	h.mu.Lock()
	if h.daemon != nil {
		w = h.daemon.writer
	}
	h.mu.Unlock()
	if w != nil {
		w.Flush()
	}
}

func badLine(line claude.Line) string {
	text := strings.ToValidUTF8(string(line.Bytes[:min(len(line.Bytes), maxBadBytes)]), "\uFFFD")
	if line.TooLong || len(line.Bytes) > maxBadBytes {
		text += "…"
	}
	return text
}

// onControlRequest keeps a permission request, or a call of a tool, for the daemon to answer. Any
// other request is answered at once, because an unanswered request blocks the turn for ever.
func (h *host) onControlRequest(ev *claude.Event, at time.Time) (forDaemon bool) {
	if m := ev.MCPMessage(); m != nil {
		return h.onMCPMessage(m, ev.Raw, at)
	}
	r, subtype, ok := ev.ControlRequest()
	if ok && ev.PermissionRequest() == nil {
		h.child.send(claude.ErrorLine(r.ID, "not supported by this gateway: "+subtype), true)
		return false
	}
	if ok {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.requests.add(request{id: r.ID, raw: ev.Raw, at: at})
	}
	return true
}

// forgetRequest reports whether the request was waiting for an answer.
func (h *host) forgetRequest(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests.remove(func(q request) bool { return q.id == id }) > 0
}

// onControlResponse notes that claude has answered initialize: turns may be written.
func (h *host) onControlResponse(ev *claude.Event) {
	if id, _ := ev.ControlResponse(); id != initializeID {
		return
	}
	version := ev.Version()
	h.mu.Lock()
	first := !h.ready
	h.ready, h.version = true, version
	h.mu.Unlock()
	if first {
		h.child.setReady()
		h.appendOwn(protocol.Entry{Ready: true, Claude: version})
	}
}

// requests are the permission requests and the calls of claude that wait for an answer, oldest first.
type requests []request

type request struct {
	id   string
	call string          // the JSON-RPC id of a call; empty for a permission request
	raw  json.RawMessage // the whole event
	at   time.Time       // when the host read the event
}

// add keeps a copy of the request. A request with a known id replaces the older one.
func (r *requests) add(q request) {
	r.remove(func(older request) bool { return older.id == q.id })
	q.raw = bytes.Clone(q.raw)
	*r = append(*r, q)
}

// remove removes the selected requests, and returns how many.
func (r *requests) remove(which func(request) bool) int {
	known := len(*r)
	*r = slices.DeleteFunc(*r, which)
	return known - len(*r)
}
