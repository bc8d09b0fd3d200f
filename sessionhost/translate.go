package sessionhost

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// A translator turns what claude says into what it means to a lane.
type translator struct {
	sessionID string // the latest that claude named
	// answeredTo is the event up to which no permission request waits for an
	// answer: those that did are in the host's welcome.
	answeredTo uint64
	log        *slog.Logger
}

// translate appends the events of one log entry: one, or a second one before it
// when the line also shows that the session goes on under a new id.
func (t *translator) translate(to []core.Event, s protocol.Entry) []core.Event {
	switch {
	case s.Exit != nil:
		return append(to, core.Event{Seq: s.Seq, Kind: core.Exited, Type: "exit", Exit: exitOf(*s.Exit)})
	case s.Backpressure != nil:
		return append(to, core.Event{Seq: s.Seq, Kind: core.LogFull, Type: "full", Detail: s.Backpressure.Problem})
	case s.Ready:
		return append(to, core.Event{Seq: s.Seq, Kind: core.Readied, Type: "ready"})
	case s.Bound != "":
		return append(to, core.Event{Seq: s.Seq, Kind: core.Said, Type: "bound"})
	case s.Event == nil:
		t.log.Warn("claude printed a line that is no JSON object", "bytes", len(s.Bad))
		t.log.Debug("claude printed a line that is no JSON object", "line", s.Bad) // it may be a part of an answer
		return append(to, core.Event{Seq: s.Seq, Kind: core.Said, Type: "bad_line"})
	}
	ev, err := claude.Decode(bytes.Clone(s.Event))
	if err != nil {
		t.log.Warn("claude printed a line that is no JSON object", "err", err)
		return append(to, core.Event{Seq: s.Seq, Kind: core.Said, Type: "bad_line"})
	}
	e := core.Event{Seq: s.Seq, Type: ev.Type, Raw: ev.Raw}
	if err := t.fill(&e, ev); err != nil {
		t.log.Warn("event not understood", "type", ev.Type, "err", err)
		e.Kind = core.Said
	}
	for _, call := range ev.ToolsEnded() {
		to = append(to, core.Event{Seq: s.Seq, Kind: core.ToolEnded, Type: "tool_ended", ToolID: call})
	}
	if id := t.newSession(ev); id != "" {
		to = append(to, core.Event{Seq: s.Seq, Kind: core.SessionNew, Type: "session", SessionID: id})
	}
	return append(to, e)
}

// newSession returns the session id if it is a new one. After /clear it is the
// system/init event, and then the result, that name it.
func (t *translator) newSession(ev claude.Event) string {
	named := ev.Type == claude.TypeSystem && ev.Subtype == "init" || ev.Type == claude.TypeResult
	if !named || ev.SessionID == "" || ev.SessionID == t.sessionID {
		return ""
	}
	t.sessionID = ev.SessionID
	return ev.SessionID
}

func (t *translator) fill(e *core.Event, ev claude.Event) error {
	switch ev.Type {
	case claude.TypeLifecycle:
		l, err := ev.Lifecycle()
		e.Kind, e.Turn, e.Phase = core.TurnState, core.TurnID(l.UUID), core.Phase(l.State)
		return err
	case claude.TypeResult:
		r, err := ev.Result()
		e.Kind, e.Result = core.Resulted, result(r)
		return err
	case claude.TypeControlRequest:
		if e.Request = request(ev); e.Request != nil && e.Seq > t.answeredTo {
			e.Kind = core.Requested
		}
	case claude.TypeCancelRequest:
		id, err := ev.CancelRequest()
		e.Kind, e.Request = core.RequestGone, &core.Request{ID: id}
		return err
	case claude.TypeStreamEvent:
		if ev.BeginsTool() {
			e.Kind = core.ToolBegun // the call itself follows with its input
		}
	case claude.TypeAssistant:
		return fillTool(e, ev)
	case claude.TypeRateLimit:
		if l, _ := ev.RateLimit(); l.Rejected {
			e.Kind, e.Until = core.Limited, l.ResetsAt
		}
	case claude.TypeSystem:
		if ev.Subtype == "api_retry" {
			return fillRetry(e, ev)
		}
		if ev.Subtype == "init" {
			begun, err := ev.Init()
			e.Model = begun.Model
			return err
		}
		if n, ok := ev.BackgroundTasks(); ok {
			e.Kind, e.Tasks = core.TasksChanged, n
		}
	}
	return nil
}

func fillTool(e *core.Event, ev claude.Event) error {
	if !ev.BeginsTool() {
		return nil
	}
	a, err := ev.Assistant()
	if err != nil {
		return err
	}
	for _, b := range a.Content {
		if b.Type == "tool_use" {
			e.Kind, e.Tool, e.Target = core.ToolBegun, b.Name, claude.ToolTarget(b.Input)
			e.ToolID, e.Timeout = b.ID, claude.ToolTimeout(b.Name, b.Input)
		}
	}
	return nil
}

func fillRetry(e *core.Event, ev claude.Event) error {
	r, err := ev.APIRetry()
	if err != nil {
		return err
	}
	e.Kind, e.Status = core.Retrying, r.ErrorStatus
	e.Detail = fmt.Sprintf("%s (status %d), attempt %d of %d in %s", strings.ReplaceAll(r.Error, "_", " "), r.ErrorStatus, r.Attempt, r.MaxRetries, r.Delay)
	return nil
}

func result(r claude.Result) *core.Result {
	res := &core.Result{
		Background: r.OriginKind != "" && len(r.UserMessageUUIDs) == 0, // else messages were folded into it
		Text:       r.Text, IsError: r.IsError, Interrupted: r.Interrupted(),
		SessionID: r.SessionID, TotalCost: r.TotalCostUSD, Cost: r.CostUSD, NumTurns: r.NumTurns,
	}
	for _, id := range r.UserMessageUUIDs {
		res.Turns = append(res.Turns, core.TurnID(id))
	}
	if r.IsError {
		res.Code, res.Error = r.Failure()
		res.Until = r.LimitEnds(time.Now())
		if res.Code == claude.CodeNotLoggedIn { // claude's own words are for who sits at its terminal
			res.Text = res.Error
		}
	}
	return res
}

// request returns the permission request in the event, nil if it is none.
func request(ev claude.Event) *core.Request {
	r, err := ev.ControlRequest()
	if err != nil || r.Subtype != claude.RequestCanUseTool {
		return nil
	}
	return &core.Request{ID: r.RequestID, Tool: r.ToolName, Input: r.Input, Suggestion: r.Suggestions}
}
