package sessionhost

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/pipe"
	"bareclaw/sessionhost/protocol"
)

const (
	// writeTimeout bounds one write to a host.
	writeTimeout = 10 * time.Second
	// stopTimeout bounds the wait for a stopping host.
	stopTimeout = 10 * time.Second
	// ackDelay is how long an acknowledgement waits for a frame to travel with.
	ackDelay = 20 * time.Millisecond
	// eventBuffer bounds the batches read ahead of the lane. A batch is passed on once it holds
	// maxBatch events.
	eventBuffer = 8
	maxBatch    = 64
)

// A session is the daemon's end of one host, a core.Session.
type session struct {
	c           *pipe.Socket
	info        core.SessionInfo
	launchID    string // how the host was started
	hasTools    bool   // claude has the gateway's tools
	toolChanges int    // toolServer.begin before the handshake
	toolList    string // protocol.ListID of the list that claude had at the handshake; "" for none
	frames      *claude.Reader
	events      chan *core.Batch
	quit        chan struct{} // closed by Detach
	once        sync.Once
	tr          translator

	mu         sync.Mutex // guards writing and the fields below
	ack        uint64     // to be sent
	acked      uint64     // sent
	ackTimer   *time.Timer
	exited     bool
	interrupts int
}

// handshake exchanges hello and welcome with the host. A pid other than 0 must be the
// host's.
func handshake(c *pipe.Socket, key core.ChannelKey, pid int, o Options) (*session, error) {
	hello, err := protocol.EncodeFrame(protocol.Frame{
		Type:        protocol.FrameHello,
		Version:     protocol.Version,
		Generation:  o.Generation,
		Host:        pid,
		IdleTimeout: cmp.Or(o.IdleTimeout, -1),
		Tools:       o.ToolServer != "",
	}, nil)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(hello); err != nil {
		return nil, fmt.Errorf("send hello: %w", err)
	}
	frames := claude.NewReader(c, protocol.MaxFrameBytes)
	line, err := frames.Next()
	if err != nil {
		return nil, fmt.Errorf("read welcome: %w", err)
	}
	var w protocol.Welcome
	if err := json.Unmarshal(line.Bytes, &w); err != nil {
		return nil, fmt.Errorf("read welcome: %w", err)
	}
	if w.Type != protocol.FrameWelcome {
		return nil, fmt.Errorf("host refused: %s", w.Error)
	}
	if w.Version != protocol.Version || w.Channel != string(key) {
		return nil, fmt.Errorf("host speaks version %d for channel %q, want %d for %q", w.Version, w.Channel, protocol.Version, key)
	}
	s := &session{
		c:        c,
		frames:   frames,
		events:   make(chan *core.Batch, eventBuffer),
		quit:     make(chan struct{}),
		info:     core.SessionInfo{SessionID: w.SessionID, HostPID: w.PID, AgentPID: w.ClaudePID, Ready: w.Ready, Said: w.Seq, Replays: w.Kept, Tasks: w.TaskNames, Settings: w.Settings, Version: w.Claude},
		launchID: w.Launch,
		hasTools: w.Tools,
		toolList: w.ToolList,
		tr:       translator{sessionID: w.SessionID, answeredTo: w.Seq, log: o.Log.With("channel", string(key)), record: func(id string) claude.Record { return o.transcript(id) }},
	}
	s.info.HostStart, _ = proc.StartTime(w.PID) // 0 if the host has just ended
	for _, id := range w.Turns {
		s.info.Turns = append(s.info.Turns, core.TurnID(id))
	}
	for _, id := range w.Working {
		if slices.Contains(w.Turns, id) { // else claude's own schedule began the turn
			s.info.Working = append(s.info.Working, core.TurnID(id))
		}
	}
	for len(s.info.Tasks) < w.Tasks { // an older host
		s.info.Tasks = append(s.info.Tasks, "")
	}
	for i, raw := range w.Requests {
		if ev, err := claude.Decode(raw); err == nil {
			if r := ev.PermissionRequest(); r != nil {
				s.info.Requests = append(s.info.Requests, *r)
			} else if c := ev.ToolRequest(); c != nil {
				if i < len(w.RequestedAt) {
					c.At = time.UnixMicro(w.RequestedAt[i])
				}
				s.info.Calls = append(s.info.Calls, *c)
			}
		}
	}
	return s, nil
}

// Info returns the host's welcome.
func (s *session) Info() core.SessionInfo { return s.info }

// Events returns the session's events.
func (s *session) Events() <-chan *core.Batch { return s.events }

// Hand gives claude a turn.
func (s *session) Hand(id core.TurnID, line []byte) error {
	return s.send(protocol.Frame{Type: protocol.FrameTurn, ID: string(id)}, line)
}

// Interrupt asks claude to end the running turn.
func (s *session) Interrupt() error {
	s.mu.Lock()
	s.interrupts++
	id := "bareclaw-interrupt-" + strconv.Itoa(s.interrupts)
	s.mu.Unlock()
	return s.send(protocol.Frame{Type: protocol.FrameWrite}, claude.InterruptLine(id))
}

// Answer decides a permission request.
func (s *session) Answer(requestID string, a core.Answer) error {
	line := claude.DenyLine(requestID, a.Message)
	if a.Allow {
		line = claude.AllowLine(requestID, a.UpdatedInput, forThisProcess(a.Rules))
	}
	return s.send(protocol.Frame{Type: protocol.FrameAnswer, ID: requestID}, line)
}

// Respond answers a request to the gateway's tools.
func (s *session) Respond(requestID string, response json.RawMessage) error {
	return s.send(protocol.Frame{Type: protocol.FrameAnswer, ID: requestID}, claude.MCPResponseLine(requestID, response))
}

// tellToolsChanged makes claude ask for the list of tools. A host without tools is told nothing.
func (s *session) tellToolsChanged() {
	if s.hasTools {
		_ = s.send(protocol.Frame{Type: protocol.FrameWrite}, claude.ToolsChangedLine("bareclaw-tools")) // a broken connection shows by itself
	}
}

// forThisProcess limits claude's suggested rules to the current process: no settings file
// gets them.
func forThisProcess(suggested json.RawMessage) json.RawMessage {
	var rules []map[string]any
	if len(suggested) == 0 || json.Unmarshal(suggested, &rules) != nil {
		return nil
	}
	for _, r := range rules {
		r["destination"] = "session"
	}
	b, err := json.Marshal(rules)
	if err != nil {
		return nil // impossible: rules was just decoded
	}
	return b
}

// Ack tells the host that events up to seq need no replay. The acknowledgement travels with
// the next frame, or alone after a short delay.
func (s *session) Ack(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ack = max(s.ack, seq)
	if s.exited || s.ack-s.acked >= 64 {
		_ = s.sendLocked(protocol.Frame{Type: protocol.FrameAck}, nil) // a broken connection shows by itself
		return
	}
	if s.ackTimer == nil {
		s.ackTimer = time.AfterFunc(ackDelay, s.flushAck)
		return
	}
	s.ackTimer.Reset(ackDelay)
}

func (s *session) flushAck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ack > s.acked {
		_ = s.sendLocked(protocol.Frame{Type: protocol.FrameAck}, nil) // a broken connection shows by itself
	}
}

// Stop ends claude and the host.
func (s *session) Stop(how core.StopMode) error {
	err := s.send(protocol.Frame{Type: protocol.FrameStop, Gently: how == core.StopGently, Patient: how == core.StopPatiently}, nil)
	_ = s.c.SetReadDeadline(time.Now().Add(stopTimeout)) // Events is closed then at the latest
	return err
}

// Detach leaves the session running.
func (s *session) Detach() {
	s.flushAck()
	s.once.Do(func() { close(s.quit) })
	_ = s.c.Close()
}

func (s *session) send(f protocol.Frame, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sendLocked(f, payload)
}

func (s *session) sendLocked(f protocol.Frame, payload []byte) error {
	if s.ack > s.acked {
		f.Seq = s.ack
	}
	b, err := protocol.EncodeFrame(f, bytes.TrimSuffix(payload, []byte{'\n'}))
	if err != nil {
		return err
	}
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.c.Write(b); err != nil {
		_ = s.c.Close()
		return fmt.Errorf("send %s frame: %w", f.Type, err)
	}
	s.acked = max(s.acked, f.Seq)
	return nil
}

// readSession reads the session until its connection ends, and tells claude of changed tools
// meanwhile.
func (h *hostKeeper) readSession(s *session) {
	h.tools.add(s)
	defer h.tools.remove(s)
	s.read()
}

// read passes the host's events on until the connection ends. Events that arrived together
// are passed on together: each hand-over costs a switch of goroutines.
func (s *session) read() {
	defer close(s.events)
	defer func() { _ = s.c.Close() }()
	var batch *core.Batch
	for {
		line, err := s.frames.Next()
		if err != nil {
			return
		}
		entry, err := protocol.DecodeEntry(line.Bytes)
		if err != nil {
			s.tr.log.Error("host sent a bad frame", "err", err)
			return
		}
		if entry.Exit != nil {
			s.mu.Lock()
			s.exited = true
			s.mu.Unlock()
		}
		if batch == nil {
			batch = core.NewBatch()
		}
		s.tr.translate(batch, entry)
		if len(batch.Events) < maxBatch && s.frames.More() {
			continue
		}
		select {
		case s.events <- batch:
			batch = nil
		case <-s.quit:
			return
		}
	}
}

// A translator turns log entries of a host into events for a lane.
type translator struct {
	sessionID string // the last session id in an event
	// answeredTo is the last event whose permission request may be answered already: the
	// host's welcome lists the open requests.
	answeredTo uint64
	log        *slog.Logger
	turn       claude.Follower
	record     func(sessionID string) claude.Record
	program    startedProgram
}

// translate adds the events of one log entry. The end of tool calls and a new session id come
// as events of their own before the event of their line.
func (t *translator) translate(to *core.Batch, s protocol.Entry) {
	first := len(to.Events)
	switch {
	case s.Exit != nil:
		to.Add(core.Event{Kind: core.Exited, Type: "exit", Exit: t.program.exit(s.Exit)})
	case s.Backpressure != nil:
		to.Add(core.Event{Kind: core.LogFull, Type: "full", Detail: s.Backpressure.Problem})
	case s.Ready:
		t.program.ready(s.Claude)
		to.Add(core.Event{Kind: core.Readied, Type: "ready", Version: s.Claude})
	case s.Bound != "":
		to.Add(core.Event{Kind: core.Said, Type: "bound"})
	case s.Event == nil:
		t.log.Warn("claude printed a line that is not a JSON object", "bytes", len(s.Bad))
		t.log.Debug("claude printed a line that is not a JSON object", "line", s.Bad) // the line may be a part of an answer
		to.Add(core.Event{Kind: core.Said, Type: "bad_line"})
	case claude.IsPlainStreamEvent(s.Event): // most events of a turn
		to.Add(core.Event{Kind: core.Said, Type: claude.TypeStreamEvent, Raw: to.Keep(s.Event)})
	default:
		t.translateLine(to, to.Keep(s.Event), s.Seq <= t.answeredTo)
	}
	for i := range to.Events[first:] {
		ev := &to.Events[first+i]
		if ev.Seq = s.Seq; s.At != 0 {
			ev.At = time.UnixMicro(s.At)
		}
	}
}

// translateLine adds the events of a line from claude. answered reports whether a permission
// request in the line may be answered already.
func (t *translator) translateLine(to *core.Batch, line []byte, answered bool) {
	ev, err := claude.Decode(line)
	if err != nil {
		t.log.Warn("claude printed a line that is not a JSON object", "err", err)
		to.Add(core.Event{Kind: core.Said, Type: "bad_line"})
		return
	}
	for _, call := range ev.ToolsEnded() {
		to.Add(core.Event{Kind: core.ToolEnded, Type: "tool_ended", ToolID: call})
	}
	if id := t.newSession(&ev); id != "" {
		to.Add(core.Event{Kind: core.SessionNew, Type: "session", SessionID: id})
	}
	t.turn.Follow(&ev)
	e := ev.Translate()
	if e.Kind == core.Resulted {
		t.turn.Complete(e.Result, t.record(t.sessionID))
	}
	if answered && (e.Kind == core.Requested || e.Kind == core.ToolRequested) {
		e.Kind = core.Said
	}
	to.Add(e)
}

// newSession returns the event's session id if it is new. After /clear the system/init
// event and the result name the new id.
func (t *translator) newSession(ev *claude.Event) string {
	named := ev.Type == claude.TypeSystem && ev.Subtype == "init" || ev.Type == claude.TypeResult
	if id := ev.SessionID(); named && id != "" && id != t.sessionID {
		t.sessionID = id
		return id
	}
	return ""
}
