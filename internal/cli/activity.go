package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/sessionhost/claude"
)

// activity folds the stream of a message into the few words that a spinner shows.
type activity struct {
	fold *progress.Fold
	id   core.MessageID
	turn core.TurnID // of the message; empty before it has one
}

func newActivity() *activity {
	return &activity{fold: progress.New(progress.Options{Show: claude.Show})}
}

// take folds an event and returns what the agent does now, empty if that is not known. The
// error is that of an event which cannot be decoded.
func (a *activity) take(e client.Event) (string, error) {
	now := time.Now()
	u := core.Update{At: now, Turn: a.turn}
	var err error
	switch e.Kind {
	case api.EventAccepted:
		var m api.Accepted
		err = json.Unmarshal([]byte(e.Data), &m)
		a.id, a.turn = core.MessageID(m.ID), core.TurnID(m.TurnID)
		u.Kind, u.Message = core.UpdateAccepted, &core.Message{ID: a.id}
	case api.EventQueued:
		var q api.Queued
		err = json.Unmarshal([]byte(e.Data), &q)
		a.id = core.MessageID(q.ID)
		u.Kind, u.Message, u.Position, u.Detail = core.UpdateQueued, &core.Message{ID: a.id}, q.Position, q.Why
	case api.EventStarted:
		var s api.Started
		err = json.Unmarshal([]byte(e.Data), &s)
		a.turn = core.TurnID(s.TurnID)
		u.Kind, u.Turn, u.Messages = core.UpdateStarted, a.turn, []core.MessageID{a.id}
	case api.EventAgent:
		u.Kind, u.Raw = core.UpdateEvent, json.RawMessage(e.Data)
	case api.EventApproval, api.EventApprovalClosed:
		var p api.Approval
		err = json.Unmarshal([]byte(e.Data), &p)
		u.Kind = core.UpdateApproval
		if e.Kind == api.EventApprovalClosed {
			u.Kind = core.UpdateApprovalClosed
		}
		u.Approval = &core.Approval{ID: p.ID, Kind: core.ApprovalTool, State: core.ApprovalState(p.State), Turn: a.turn, Tool: p.Tool, Input: p.Input}
	default:
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("decode an event: %w", err)
	}
	a.fold.Take(u)
	return a.text(now), nil
}

func (a *activity) text(now time.Time) string {
	v := a.fold.View()
	text := v.Activity(now)
	switch position := a.fold.Position(a.id); {
	case len(v.Approvals) > 0:
		return text + " (bareclaw approvals)"
	case v.Phase == progress.Starting && position > 1:
		return fmt.Sprintf("Waiting, number %d in the queue", position)
	}
	return text
}

// call names a tool and what it is called with: the command, the file, the pattern.
func call(tool string, input json.RawMessage) string {
	var in map[string]any
	_ = json.Unmarshal(input, &in) // what is no object has no members
	for _, name := range []string{"command", "file_path", "path", "pattern", "url", "query", "skill", "description", "prompt"} {
		if s, ok := in[name].(string); ok && s != "" {
			return tool + ": " + s
		}
	}
	if tool == "" {
		return "a turn that was cut, to be continued"
	}
	return tool
}
