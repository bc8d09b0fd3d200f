package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"bareclaw/sessionhost/protocol"
)

// batchBytes is about how much is written to the daemon at once.
const batchBytes = 64 << 10

// startSending sends the daemon each unacknowledged event, and from now on each new event.
func (h *host) startSending(c *socket) error {
	s := sender{host: h}
	w, err := newPipeWriter(c, s.next, func(err error) {
		h.log.Info("daemon no longer reached", "err", err)
		if !protocol.IsDisconnect(err) {
			_ = c.Close()
		} // else the daemon has left, and its last frames are still to be read
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	if h.daemon.socket == c { // else a newer daemon has come
		h.daemon.writer = w
	}
	h.mu.Unlock()
	h.sendLog()
	return nil
}

// sendLog sends the daemon new entries of the log.
func (h *host) sendLog() {
	h.mu.Lock()
	w := h.daemon.writer
	h.mu.Unlock()
	if w != nil {
		w.flush()
	}
}

// A sender reads the log for one daemon.
type sender struct {
	host   *host
	after  uint64 // the last entry read
	notice uint64 // the last notice of backpressure sent
	batch  []byte
}

// next returns the next bytes for the daemon, none when it has everything.
func (s *sender) next() (_ []byte, err error) {
	if cap(s.batch) > 4*batchBytes {
		s.batch = nil // the memory of a giant line is not kept
	}
	s.batch, s.after, err = s.host.events.read(s.batch[:0], s.after, batchBytes)
	if len(s.batch) == 0 && err == nil {
		s.requestAck()
	}
	return s.batch, err
}

// requestAck asks a daemon that has all entries to acknowledge them, when the log has no
// room for more.
func (s *sender) requestAck() {
	nth, waits, err := s.host.events.ackRequest(s.notice)
	if !waits || s.after == 0 {
		return
	}
	var p protocol.Backpressure
	if err != nil {
		p.Problem = diskProblem(filepath.Dir(s.host.place.Load().SpoolPath), err)
		s.host.log.Error("claude's output is not read, because events cannot be kept", "err", err, "retry_in", protocol.RetryInterval)
	}
	s.batch = append(s.batch, protocol.EncodeEntry(protocol.Entry{Seq: s.after, Backpressure: &p})...)
	s.notice = nth
}

// diskProblem tells a person why files in the directory cannot be written.
func diskProblem(dir string, err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "no space is left on the disk of " + dir + "; free some there"
	case errors.Is(err, syscall.EDQUOT):
		return "the quota for " + dir + " is used up; free some space there"
	default:
		return fmt.Sprintf("%s cannot be written (%v); see what is wrong with that disk", dir, err)
	}
}
