package host

import (
	"os"
	"time"

	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// A registration is the host's record on disk, by which daemons find the host. The
// host's mutex guards it.
type registration struct {
	record  protocol.Record
	retry   *time.Timer // of a failed write; else nil
	removed bool
}

// register writes the record. A failed write is repeated until it succeeds: without the
// record no daemon finds the host, whose lock keeps the channel from having another one.
func (h *host) register() {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.registration
	if r.removed {
		return
	}
	if r.record.PID == 0 {
		place := h.place.Load()
		r.record = protocol.Record{Channel: place.Channel, Socket: place.Socket, PID: os.Getpid()}
		r.record.Start, _ = proc.StartTime(r.record.PID)
		r.record.BootID, _ = proc.BootID()
	}
	err := r.record.Write(h.place.Load().RecordPath)
	switch {
	case err == nil:
	case r.retry == nil:
		h.log.Error("host record not written", "err", err, "retry_in", protocol.RetryInterval)
		r.retry = time.AfterFunc(protocol.RetryInterval, h.register)
	default:
		r.retry.Reset(protocol.RetryInterval)
	}
}

// registerChild adds claude's process to the record.
func (h *host) registerChild(pid int) {
	h.mu.Lock()
	h.registration.record.ClaudePID = pid
	h.registration.record.ClaudeStart, _ = proc.StartTime(pid) // claude may be gone already
	h.mu.Unlock()
	h.register()
}

// unregister removes the record and the socket: claude has ended, and no channel gets
// this host any more.
func (h *host) unregister() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.registration.removed = true
	h.tools.release()
	_ = os.Remove(h.place.Load().Socket)
	_ = os.Remove(h.place.Load().RecordPath)
}

// envMark returns the mark of this session's processes.
func (h *host) envMark() protocol.EnvMark {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.registration.record
	return protocol.EnvMarkOf(h.place.Load().RecordPath, r.PID, r.Start)
}
