package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// helloTimeout is how long a new connection may take to say who it is.
const helloTimeout = 5 * time.Second

// batchBytes is about how much is written to the daemon at once.
const batchBytes = 64 << 10

// accept serves daemons, the newest generation at a time. When it cannot, as for want of a
// file descriptor, it tries again: a host that nobody reaches is ended with its turn.
func (h *host) accept(l *net.UnixListener) {
	failing := false
	for {
		c, err := l.AcceptUnix()
		switch {
		case err == nil:
			failing = false
			go h.serve(c) // ends with the connection
			continue
		case errors.Is(err, net.ErrClosed):
			return
		case !failing:
			failing = true
			h.log.Error("host cannot accept connections", "err", err, "retry_in", protocol.RetryInterval)
		}
		time.Sleep(protocol.RetryInterval)
	}
}

func (h *host) serve(conn *net.UnixConn) {
	if err := protocol.CheckPeer(conn); err != nil {
		h.log.Warn("connection refused", "err", err)
		_ = conn.Close()
		return
	}
	c, err := newSocket(conn)
	if err != nil {
		h.log.Error("daemon not served", "err", err)
		return
	}
	defer func() { _ = c.Close() }()
	defer h.onDisconnect(c)
	frames := claude.NewReader(c, protocol.MaxFrameBytes)
	if err := h.greet(c, frames); err != nil {
		h.log.Warn("daemon refused", "err", err)
		_ = json.NewEncoder(c).Encode(protocol.Welcome{Type: protocol.FrameRefused, Version: protocol.Version, Error: err.Error()})
		return
	}
	if err := h.startSending(c); err != nil {
		h.log.Error("daemon not served", "err", err)
		return
	}
	for {
		line, err := frames.Next()
		if err != nil {
			return
		}
		if err := h.handleFrame(c, line.Bytes); err != nil {
			h.log.Warn("bad frame", "err", err)
			return
		}
	}
}

// greet checks the daemon's hello, makes it the host's daemon, and answers with
// the host's state.
func (h *host) greet(c *socket, frames *claude.Reader) error {
	_ = c.SetReadDeadline(time.Now().Add(helloTimeout))
	line, err := frames.Next()
	if err != nil {
		return fmt.Errorf("read hello: %w", err)
	}
	_ = c.SetReadDeadline(time.Time{})
	f, _, err := protocol.DecodeFrame(line.Bytes)
	if err != nil {
		return err
	}
	if f.Type != protocol.FrameHello || f.Version != protocol.Version {
		return fmt.Errorf("hello is %q of version %d, want %q of version %d", f.Type, f.Version, protocol.FrameHello, protocol.Version)
	}
	if f.Host != 0 && f.Host != os.Getpid() {
		return fmt.Errorf("process %d is meant, this is %d: another gateway uses the same runtime directory", f.Host, os.Getpid())
	}
	w, err := h.welcome(c, f.Generation)
	if err != nil {
		return err
	}
	h.setIdleTimeout(f.IdleTimeout)
	_ = c.SetWriteDeadline(time.Now().Add(helloTimeout))
	defer func() { _ = c.SetWriteDeadline(time.Time{}) }()
	if err := json.NewEncoder(c).Encode(w); err != nil {
		return fmt.Errorf("answer hello: %w", err)
	}
	return nil
}

// welcome makes the connection the host's daemon, instead of an older one, and
// returns the host's state.
func (h *host) welcome(c *socket, generation int64) (protocol.Welcome, error) {
	if err := h.replace(c, generation); err != nil {
		return protocol.Welcome{}, err
	}
	last, working, kept := h.events.attach(c, generation) // before the requests: a newer one is an event as well
	h.mu.Lock()
	defer h.mu.Unlock()
	w := protocol.Welcome{
		Type: protocol.FrameWelcome, Version: protocol.Version, Channel: h.place.Load().Channel, SessionID: h.b.SessionID,
		PID: os.Getpid(), ClaudePID: h.rec.ClaudePID, Ready: h.ready, Launch: h.b.Launch, Settings: h.b.Settings, Tasks: h.tasks, Turns: slices.Clone(h.turns), Working: working, Seq: last, Kept: kept,
	}
	for _, id := range h.order {
		w.Requests = append(w.Requests, h.requests[id])
	}
	return w, nil
}

// replace makes the connection the host's daemon. What had been read of the one before is
// obeyed first: so the newer daemon is told of each turn that claude was given, and hands
// over no other one again.
func (h *host) replace(c *socket, generation int64) error {
	for {
		before, gone, err := h.tryReplace(c, generation)
		if before == nil {
			return err
		}
		_ = before.Close() // one daemon at a time: the newest
		<-gone             // soon: nothing waits for long in what a frame does
	}
}

// take makes the connection the host's daemon, unless there is another one: that is to go
// first, as gone shows.
func (h *host) tryReplace(c *socket, generation int64) (before *socket, gone <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case generation < h.generation:
		return nil, nil, fmt.Errorf("generation %d is not newer than %d", generation, h.generation)
	case h.client != nil:
		return h.client, h.released, nil
	}
	h.generation, h.client, h.released, h.toDaemon = generation, c, make(chan struct{}), nil
	return nil, nil, nil
}

// left notes that nothing more is obeyed of a connection.
func (h *host) onDisconnect(c *socket) {
	h.mu.Lock()
	if h.client == c {
		close(h.released)
		h.client, h.released, h.toDaemon = nil, nil, nil
		h.restartIdleTimerLocked()
	}
	h.mu.Unlock()
	h.events.wakeAll()
}

// follow sends the daemon every event that is not acknowledged, and from now on
// each new one.
func (h *host) startSending(c *socket) error {
	after, told := uint64(0), uint64(0)
	var batch []byte
	next := func() (_ []byte, err error) {
		if cap(batch) > 4*batchBytes {
			batch = nil // a giant line does not stay in memory
		}
		if batch, after, err = h.events.read(batch[:0], after, batchBytes); len(batch) > 0 || err != nil {
			return batch, err
		}
		batch, told = h.requestAck(batch, after, told)
		return batch, nil
	}
	feed, err := newPipeWriter(c, next, func(err error) {
		h.log.Info("daemon no longer reached", "err", err)
		if !protocol.IsDisconnect(err) {
			_ = c.Close()
		} // else the daemon has left, and what it had written before is still to be read
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	if h.client == c { // else a newer daemon has come
		h.toDaemon = feed
	}
	h.mu.Unlock()
	h.sendLog()
	return nil
}

// plead appends what a daemon that has everything up to after is told when the log has no
// room for more. told is what it was told before.
func (h *host) requestAck(batch []byte, after, told uint64) ([]byte, uint64) {
	nth, waits, err := h.events.ackRequest(told)
	if !waits || after == 0 {
		return batch, told
	}
	var f protocol.Backpressure
	if err != nil {
		f.Problem = diskProblem(filepath.Dir(h.place.Load().SpoolPath), err)
		h.log.Error("claude is not read: what it says cannot be kept", "err", err, "retry_in", protocol.RetryInterval)
	}
	return append(batch, protocol.EncodeEntry(protocol.Entry{Seq: after, Backpressure: &f})...), nth
}

// noRoom says for a person why nothing can be written to a file of that directory.
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

// pass sends the daemon what is new in the log.
func (h *host) sendLog() {
	h.mu.Lock()
	feed := h.toDaemon
	h.mu.Unlock()
	if feed != nil {
		feed.flush()
	}
}

// obey carries out one frame.
func (h *host) handleFrame(c *socket, b []byte) error {
	f, payload, err := protocol.DecodeFrame(b)
	if err != nil {
		return err
	}
	switch f.Type {
	case protocol.FrameTurn:
		h.addTurn(f.ID)
		h.writeToClaude(payload, false)
	case protocol.FrameWrite:
		h.writeToClaude(payload, true)
	case protocol.FrameAnswer:
		if h.forgetRequest(f.ID) {
			h.writeToClaude(payload, true)
		}
	case protocol.FrameBind:
		if err := h.bind(c, payload); err != nil {
			return err
		}
	case protocol.FrameStop:
		h.stop(f.Gently, f.Patient)
	case protocol.FrameAck:
	default:
		return fmt.Errorf("unknown frame %q", f.Type)
	}
	if f.Seq > 0 { // any frame may carry an acknowledgement
		h.events.ack(c, f.Seq)
	}
	return nil
}

// remember notes that claude was given the turn.
func (h *host) addTurn(turn string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.turns) == 2*maxTurns {
		h.turns = h.turns[:copy(h.turns, h.turns[maxTurns:])]
	}
	h.turns = append(h.turns, turn)
	h.turnHandedLocked(turn)
}

// tell passes a line on to claude.
func (h *host) writeToClaude(payload []byte, now bool) {
	if h.child == nil || payload == nil {
		return
	}
	line := append(append(make([]byte, 0, len(payload)+1), payload...), '\n')
	h.child.send(line, now)
}
