package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// helloTimeout bounds the exchange of hello and welcome on a new connection.
const helloTimeout = 5 * time.Second

// A connection is the daemon that the host obeys. The host's mutex guards it.
type connection struct {
	generation int64         // of the newest daemon so far
	socket     *socket       // nil when no daemon is connected
	released   chan struct{} // closed when no frame of the socket is handled any more
	writer     *pipeWriter   // of the log to the daemon; nil before the welcome is sent
}

// accept serves daemons. It tries again after a failure, as for want of a file descriptor:
// a host out of reach would be ended with its turn.
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

// serve handles the frames of one daemon until the connection ends.
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

// greet checks the daemon's hello, makes the daemon the one that the host obeys, and
// answers with the host's state.
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
		return fmt.Errorf("hello is for process %d, this is %d: another gateway uses the same runtime directory", f.Host, os.Getpid())
	}
	if err := h.replaceDaemon(c, f.Generation); err != nil {
		return err
	}
	h.setIdleTimeout(f.IdleTimeout)
	_ = c.SetWriteDeadline(time.Now().Add(helloTimeout))
	defer func() { _ = c.SetWriteDeadline(time.Time{}) }()
	if err := json.NewEncoder(c).Encode(h.welcome(c, f.Generation)); err != nil {
		return fmt.Errorf("answer hello: %w", err)
	}
	return nil
}

// welcome returns the host's state.
func (h *host) welcome(c *socket, generation int64) protocol.Welcome {
	last, working, kept := h.events.attach(c, generation) // before the requests: a newer request comes as an event
	h.mu.Lock()
	defer h.mu.Unlock()
	return protocol.Welcome{
		Type: protocol.FrameWelcome, Version: protocol.Version, Channel: h.place.Load().Channel, SessionID: h.b.SessionID,
		PID: os.Getpid(), ClaudePID: h.registration.record.ClaudePID, Ready: h.ready, Launch: h.b.Launch, Settings: h.b.Settings,
		Tasks: h.idle.activity.Tasks, Turns: slices.Clone(h.turns), Working: working, Requests: h.requests.events(), Seq: last, Kept: kept,
	}
}

// replaceDaemon makes the connection the one that the host obeys. The frames that were
// read of the older connection are handled first. So the newer daemon hears of each turn
// that claude was given, and hands over no other turn again.
func (h *host) replaceDaemon(c *socket, generation int64) error {
	for {
		older, released, err := h.tryReplace(c, generation)
		if older == nil {
			return err
		}
		_ = older.Close()
		<-released // soon: no frame takes long
	}
}

// tryReplace succeeds when no other daemon is connected. Else it returns the older
// connection, to be released first.
func (h *host) tryReplace(c *socket, generation int64) (older *socket, released <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch d := &h.daemon; {
	case generation < d.generation:
		return nil, nil, fmt.Errorf("generation %d is not newer than %d", generation, d.generation)
	case d.socket != nil:
		return d.socket, d.released, nil
	}
	h.daemon = connection{generation: generation, socket: c, released: make(chan struct{})}
	return nil, nil, nil
}

// onDisconnect notes that no frame of the connection is handled any more.
func (h *host) onDisconnect(c *socket) {
	h.mu.Lock()
	if d := h.daemon; d.socket == c {
		close(d.released)
		h.daemon = connection{generation: d.generation}
		h.idle.restart(time.Now())
	}
	h.mu.Unlock()
	h.events.wakeAll()
}

// handleFrame carries out one frame of the daemon.
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
		grace := termGrace
		if f.Patient {
			grace = patientGrace
		}
		h.stop(f.Gently, grace)
	case protocol.FrameAck:
	default:
		return fmt.Errorf("unknown frame %q", f.Type)
	}
	if f.Seq > 0 { // any frame may carry an acknowledgement
		h.events.ack(c, f.Seq)
	}
	return nil
}

// addTurn notes that claude is given the turn.
func (h *host) addTurn(turn string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.turns) == 2*maxTurns {
		h.turns = h.turns[:copy(h.turns, h.turns[maxTurns:])]
	}
	h.turns = append(h.turns, turn)
	h.idle.turnHanded(turn, time.Now())
}

// writeToClaude queues a line for claude's input. A turn waits until claude is ready.
func (h *host) writeToClaude(payload []byte, control bool) {
	if h.child == nil || payload == nil {
		return
	}
	line := append(append(make([]byte, 0, len(payload)+1), payload...), '\n')
	h.child.send(line, control)
}
