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
func (c *connection) startSending() error {
	w, err := newPipeWriter(c, c.next, func(err error) {
		c.host.log.Info("daemon no longer reached", "err", err)
		if !protocol.IsDisconnect(err) {
			_ = c.Close()
		} // else the daemon has left, and its last frames are still to be read
	})
	if err != nil {
		return err
	}
	c.host.mu.Lock()
	c.writer = w
	c.host.mu.Unlock()
	c.host.sendLog()
	return nil
}

// next returns the next bytes for the daemon, none when it has everything.
func (c *connection) next() (_ []byte, err error) {
	if cap(c.batch) > 4*batchBytes {
		c.batch = nil // the memory of a giant line is not kept
	}
	c.batch, c.after, err = c.host.events.read(c.batch[:0], c.after, batchBytes)
	if len(c.batch) == 0 && err == nil {
		c.requestAck()
	}
	return c.batch, err
}

// requestAck asks a daemon that has all entries to acknowledge them, when the log has no
// room for more.
func (c *connection) requestAck() {
	nth, waits, err := c.host.events.ackRequest(c.notice)
	if !waits || c.after == 0 {
		return
	}
	var p protocol.Backpressure
	if err != nil {
		p.Problem = diskProblem(filepath.Dir(c.host.registration.at().SpoolPath), err)
		c.host.log.Error("claude's output is not read, because events cannot be kept", "err", err, "retry_in", protocol.RetryInterval)
	}
	c.batch = append(c.batch, protocol.EncodeEntry(protocol.Entry{Seq: c.after, Backpressure: &p})...)
	c.notice = nth
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
