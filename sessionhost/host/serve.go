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

	"bareclaw/internal/wait"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/pipe"
	"bareclaw/sessionhost/protocol"
)

// helloTimeout bounds the exchange of hello and welcome on a new connection.
const helloTimeout = 5 * time.Second

// A connection is the host's connection to one daemon.
type connection struct {
	*pipe.Socket
	host     *host
	released chan struct{} // closed when no frame of the connection is handled any more
	writer   *pipe.Writer  // of the log to the daemon; nil before the welcome is sent; guarded by the host's mutex

	// Used by the writer alone.
	after  uint64 // the last entry read
	notice uint64 // the last notice of backpressure sent
	batch  []byte
}

// accept serves daemons. accept retries after a failure, such as a lack of file descriptors,
// because a daemon ends a host that does not answer, together with the turn.
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
	socket, err := pipe.NewSocket(conn)
	if err != nil {
		h.log.Warn("connection refused", "err", err)
		return
	}
	c := &connection{Socket: socket, host: h, released: make(chan struct{})}
	defer func() { _ = c.Close() }()
	defer h.onDisconnect(c)
	frames := claude.NewReader(c, protocol.MaxFrameBytes)
	if err := h.greet(c, frames); err != nil {
		h.log.Warn("daemon refused", "err", err)
		_ = json.NewEncoder(c).Encode(protocol.Welcome{Type: protocol.FrameRefused, Version: protocol.Version, Error: err.Error()})
		return
	}
	c.startSending()
	for {
		line, err := frames.Next()
		if err != nil {
			return
		}
		if err := h.handleFrame(line.Bytes); err != nil {
			h.log.Warn("bad frame", "err", err)
			return
		}
	}
}

// greet checks the daemon's hello, makes the daemon the host's only daemon, and answers with
// the host's state.
func (h *host) greet(c *connection, frames *claude.Reader) error {
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
	if err := h.replaceDaemon(c, f); err != nil {
		return err
	}
	_ = c.SetWriteDeadline(time.Now().Add(helloTimeout))
	defer func() { _ = c.SetWriteDeadline(time.Time{}) }()
	if err := json.NewEncoder(c).Encode(h.welcome()); err != nil {
		return fmt.Errorf("answer hello: %w", err)
	}
	return nil
}

func (h *host) welcome() protocol.Welcome {
	last, working, kept := h.events.state() // before the requests: a newer request comes as an event
	h.mu.Lock()
	defer h.mu.Unlock()
	var asked []json.RawMessage
	var askedAt []int64
	for _, r := range h.requests {
		asked, askedAt = append(asked, r.raw), append(askedAt, r.at.UnixMicro())
	}
	return protocol.Welcome{
		Type:        protocol.FrameWelcome,
		Version:     protocol.Version,
		Channel:     h.registration.at().Channel,
		SessionID:   h.b.SessionID,
		PID:         os.Getpid(),
		ClaudePID:   h.registration.claudePID(),
		Ready:       h.ready,
		Claude:      h.version,
		Launch:      h.b.Launch,
		Settings:    h.b.Settings,
		Tasks:       h.idle.activity.Tasks,
		TaskNames:   h.idle.tasks,
		Turns:       slices.Clone(h.turns),
		Working:     working,
		Requests:    asked,
		RequestedAt: askedAt,
		Tools:       h.b.ToolServer != "",
		ToolList:    h.toolList,
		Seq:         last,
		Kept:        kept,
	}
}

// replaceDaemon makes c the host's only connection. The host first handles the frames that
// have arrived on the older connection, and none afterwards: the welcome then lists every
// turn handed to claude, and the newer daemon repeats no turn.
func (h *host) replaceDaemon(c *connection, hello protocol.Frame) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		if hello.Generation < h.generation {
			return fmt.Errorf("generation %d is older than %d", hello.Generation, h.generation)
		}
		older := h.daemon
		if older == nil {
			break
		}
		h.mu.Unlock()
		_ = older.CloseRead()
		<-older.released // soon: no frame takes long
		h.mu.Lock()
	}
	h.daemon, h.generation = c, hello.Generation
	if hello.IdleTimeout != 0 {
		h.idle.timeout = max(hello.IdleTimeout, 0)
	}
	h.setTools(hello)
	return nil
}

func (h *host) onDisconnect(c *connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.daemon == c {
		h.daemon = nil
		h.idle.restart(time.Now())
		close(c.released)
	}
}

func (h *host) handleFrame(b []byte) error {
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
		if err := h.bind(payload); err != nil {
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
		h.events.ack(f.Seq)
	}
	return nil
}

func (h *host) addTurn(turn string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.turns) == 2*maxTurns {
		h.turns = h.turns[:copy(h.turns, h.turns[maxTurns:])]
	}
	h.turns = append(h.turns, turn)
	if h.idle.unfinished == nil {
		h.idle.unfinished = map[string]struct{}{}
	}
	h.idle.unfinished[turn] = struct{}{}
	h.idle.since = time.Now()
}

// writeToClaude queues a line for claude's input. A turn waits until claude is ready.
func (h *host) writeToClaude(payload []byte, control bool) {
	if h.child == nil || payload == nil {
		return
	}
	line := append(append(make([]byte, 0, len(payload)+1), payload...), '\n')
	h.child.send(line, control)
}

// bind gives a spare to a channel, whose lock the daemon holds meanwhile. The entry in the
// log tells the daemon that all later entries belong to the channel. After an error the
// daemon ends the host.
func (h *host) bind(payload []byte) error {
	var to protocol.Place
	if err := json.Unmarshal(payload, &to); err != nil {
		return fmt.Errorf("decode bind frame: %w", err)
	}
	if err := h.rebind(to); err != nil {
		return fmt.Errorf("bind to channel %q: %w", to.Channel, err)
	}
	h.tools.reserve()
	h.log.Info("spare bound", "channel", to.Channel)
	h.appendOwn(protocol.Entry{Bound: to.Channel})
	return nil
}

// rebind holds the mutex throughout: a connecting daemon finds the host either in the old
// place or in the new one.
func (h *host) rebind(to protocol.Place) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.registration.isSpare():
		return errors.New("the host has a channel")
	case h.idle.closing != notEnding:
		return errors.New("claude is ending")
	case wait.IsClosed(h.exited):
		return errors.New("claude has ended")
	}
	return h.registration.move(to)
}

// batchBytes is about how much is written to the daemon at once.
const batchBytes = 64 << 10

// startSending sends the daemon each unacknowledged event, and from now on each new event.
func (c *connection) startSending() {
	w := pipe.NewWriter(c, c.next, func(err error) {
		c.host.log.Info("daemon no longer reached", "err", err)
		if !protocol.IsDisconnect(err) {
			_ = c.Close()
		} // else the daemon has left, and its last frames are still to be read
	})
	c.host.mu.Lock()
	c.writer = w
	c.host.mu.Unlock()
	c.host.sendLog()
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
