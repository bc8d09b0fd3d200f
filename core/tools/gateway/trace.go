package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
)

type traces struct{ Messages }

// A trace is the result of message_trace.
type trace struct {
	MessageID    core.MessageID  `json:"message_id"`
	Channel      core.ChannelKey `json:"channel"`
	Adapter      string          `json:"adapter"`
	State        core.State      `json:"state"`
	Prompt       string          `json:"prompt"`
	ReceivedAt   time.Time       `json:"received_at"`
	DispatchedAt time.Time       `json:"dispatched_at,omitzero"`
	EndedAt      time.Time       `json:"ended_at,omitzero"`
	Reply        string          `json:"reply,omitempty"`
	Code         string          `json:"code,omitempty"`
	Error        string          `json:"error,omitempty"`
	CostUSD      float64         `json:"cost_usd,omitempty"`
	Position     int             `json:"position,omitempty"` // of a message that waits; 1 is next
	Why          string          `json:"why,omitempty"`
	Until        time.Time       `json:"until,omitzero"`
	Turn         core.TurnID     `json:"turn_id,omitempty"`
	Steps        []step          `json:"steps,omitempty"`
	Approvals    []approval      `json:"approvals,omitempty"`
	Deliveries   []delivery      `json:"deliveries,omitempty"`
}

// A step is a point on the timeline of a turn.
type step struct {
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Detail string    `json:"detail,omitempty"`
	TookMS int64     `json:"took_ms,omitempty"`
}

type approval struct {
	Tool  string             `json:"tool,omitempty"`
	State core.ApprovalState `json:"state"`
}

type delivery struct {
	Kind  core.DeliveryKind  `json:"kind"`
	State core.DeliveryState `json:"state"`
	Error string             `json:"error,omitempty"`
}

type traceArgs struct{ ID core.MessageID }

// channelOf returns the channel whose content the trace shows. A session sees the messages of its
// own channel, and what its channel has sent to others by channel_send.
func (ts traces) channelOf(ctx context.Context, c tools.Call, args traceArgs) (core.ChannelKey, error) {
	m, err := ts.Message(ctx, args.ID)
	if errors.Is(err, core.ErrNotFound) {
		return c.Channel, nil
	}
	if err != nil || c.Channel == "" || m.Channel == c.Channel {
		return m.Channel, err
	}
	if m.Adapter == sendAdapter && m.Origin.User == string(c.Channel) {
		return c.Channel, nil
	}
	return "", fmt.Errorf("message %q is of channel %q; message_trace shows the messages of your own channel, and those that you have sent with channel_send", args.ID, m.Channel)
}

func (ts traces) show(ctx context.Context, _ tools.Call, args traceArgs) (any, error) {
	t, err := ts.Trace(ctx, args.ID)
	if errors.Is(err, core.ErrNotFound) {
		return nil, fmt.Errorf("there is no message %.60q", args.ID)
	}
	if err != nil {
		return nil, err
	}
	m := &t.Message
	shown := trace{
		MessageID:    m.ID,
		Channel:      m.Channel,
		Adapter:      m.Adapter,
		State:        m.State,
		Prompt:       m.Prompt.Text,
		ReceivedAt:   m.ReceivedAt,
		DispatchedAt: m.DispatchedAt,
		EndedAt:      m.EndedAt,
		Code:         m.Reply.Code,
		Error:        m.Reply.Error,
		CostUSD:      m.Reply.CostUSD,
		Position:     t.Position,
		Why:          t.Why,
		Until:        t.Until,
		Turn:         m.Turn,
	}
	if t.Turn != nil {
		for _, k := range t.Turn.Marks {
			shown.Steps = append(shown.Steps, step{k.At, k.What, k.Detail, k.Took.Milliseconds()})
		}
	}
	for i := range t.Approvals {
		shown.Approvals = append(shown.Approvals, approval{t.Approvals[i].Tool, t.Approvals[i].State})
	}
	for _, d := range t.Deliveries {
		shown.Deliveries = append(shown.Deliveries, delivery{d.Kind, d.State, d.Error})
	}
	shown.Reply, err = replyText(ctx, ts, m)
	return shown, err
}
