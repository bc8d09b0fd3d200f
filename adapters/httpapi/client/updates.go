package client

import (
	"encoding/json"
	"fmt"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// Updates makes the events of a stream the updates that the gateway has published. Events of
// the agent name no turn: Updates remembers the turn begun last. The zero value is for a
// stream from its begin.
type Updates struct {
	// Turn is the running turn; to be set for a stream that begins in the middle of a turn.
	Turn core.TurnID
}

// Take returns the update of an event; false for an event that is no update, such as the
// announced end of the stream. A notice is an update of the kind of its code.
func (s *Updates) Take(e Event) (u core.Update, ok bool, err error) {
	u = core.Update{Kind: core.UpdateKind(e.Kind), At: time.Now(), Turn: s.Turn}
	u.ID, _ = core.ParseUpdateID(e.ID) // stays zero for an event without an id
	data := []byte(e.Data)
	switch e.Kind {
	case api.EventAgent:
		u.Raw = data
	case api.EventAccepted, api.EventResult:
		var m api.Message
		err = json.Unmarshal(data, &m)
		u.Message = Message(&m)
		if u.Turn = u.Message.Turn; e.Kind == api.EventAccepted && u.Turn != "" {
			s.Turn = u.Turn // a stream resumed after its turn began
		}
	case api.EventQueued:
		var q api.Queued
		err = json.Unmarshal(data, &q)
		u.Message, u.Position, u.Detail = &core.Message{ID: core.MessageID(q.ID)}, q.Position, q.Why
	case api.EventStarted:
		var started api.Started
		err = json.Unmarshal(data, &started)
		s.Turn = core.TurnID(started.TurnID)
		u.Turn = s.Turn
		for _, id := range started.Messages {
			u.Messages = append(u.Messages, core.MessageID(id))
		}
	case api.EventApproval, api.EventApprovalClosed:
		var a api.Approval
		err = json.Unmarshal(data, &a)
		u.Approval = Approval(&a)
	case api.EventBackground:
		var b api.Background
		err = json.Unmarshal(data, &b)
		u.Background = &core.Background{ID: b.ID, Text: b.Text, IsError: b.IsError, CreatedAt: b.CreatedAt}
	case api.EventNotice:
		var n api.Notice
		err = json.Unmarshal(data, &n)
		u.Kind, u.Detail = core.UpdateKind(n.Code), n.Text
	default:
		return u, false, nil
	}
	if err != nil {
		return u, false, fmt.Errorf("decode an event %.20q: %w", e.Kind, err)
	}
	return u, true, nil
}

// Message returns core's form of a message, without its content.
func Message(m *api.Message) *core.Message {
	return &core.Message{
		ID: core.MessageID(m.ID), Channel: core.ChannelKey(m.Channel), Turn: core.TurnID(m.TurnID), State: core.State(m.State), EndedAt: m.EndedAt,
		Reply: core.Reply{
			State: core.State(m.State), Text: m.Text, IsError: m.IsError, Code: m.Code, Duration: time.Duration(m.DurationMS) * time.Millisecond,
			CostUSD: m.CostUSD, Coalesced: m.Coalesced, Into: core.MessageID(m.Into),
		},
	}
}

// Approval returns core's form of an approval.
func Approval(a *api.Approval) *core.Approval {
	kind := core.ApprovalTool
	if a.Kind == string(core.ApprovalContinue) {
		kind = core.ApprovalContinue
	}
	return &core.Approval{
		ID: a.ID, Kind: kind, Channel: core.ChannelKey(a.Channel), Message: core.MessageID(a.MessageID), Turn: core.TurnID(a.TurnID),
		State: core.ApprovalState(a.State), Tool: a.Tool, Input: a.Input, Suggestion: a.Suggestion,
	}
}
