package sessionhost

import (
	"bytes"
	"log/slog"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// A translator turns log entries of a host into events for a lane.
type translator struct {
	sessionID string // the last session id in an event
	// answeredTo is the last event whose permission request may be answered already: the
	// host's welcome lists the open requests.
	answeredTo uint64
	log        *slog.Logger
}

// translate appends the events of one log entry. The end of tool calls and a new session id
// come as events of their own before the event of their line.
func (t *translator) translate(to []core.Event, s protocol.Entry) []core.Event {
	switch {
	case s.Exit != nil:
		return append(to, core.Event{Seq: s.Seq, Kind: core.Exited, Type: "exit", Exit: s.Exit.Core()})
	case s.Backpressure != nil:
		return append(to, core.Event{Seq: s.Seq, Kind: core.LogFull, Type: "full", Detail: s.Backpressure.Problem})
	case s.Ready:
		return append(to, core.Event{Seq: s.Seq, Kind: core.Readied, Type: "ready"})
	case s.Bound != "":
		return append(to, core.Event{Seq: s.Seq, Kind: core.Said, Type: "bound"})
	case s.Event == nil:
		t.log.Warn("claude printed a line that is no JSON object", "bytes", len(s.Bad))
		t.log.Debug("claude printed a line that is no JSON object", "line", s.Bad) // the line may be a part of an answer
		return append(to, core.Event{Seq: s.Seq, Kind: core.Said, Type: "bad_line"})
	}
	if claude.IsPlainStreamEvent(s.Event) { // most events of a turn
		return append(to, core.Event{Seq: s.Seq, Kind: core.Said, Type: claude.TypeStreamEvent, Raw: bytes.Clone(s.Event)})
	}
	ev, err := claude.Decode(bytes.Clone(s.Event))
	if err != nil {
		t.log.Warn("claude printed a line that is no JSON object", "err", err)
		return append(to, core.Event{Seq: s.Seq, Kind: core.Said, Type: "bad_line"})
	}
	e := ev.Translate()
	if e.Seq = s.Seq; e.Kind == core.Requested && e.Seq <= t.answeredTo {
		e.Kind = core.Said
	}
	for _, call := range ev.ToolsEnded() {
		to = append(to, core.Event{Seq: s.Seq, Kind: core.ToolEnded, Type: "tool_ended", ToolID: call})
	}
	if id := t.newSession(&ev); id != "" {
		to = append(to, core.Event{Seq: s.Seq, Kind: core.SessionNew, Type: "session", SessionID: id})
	}
	return append(to, e)
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
