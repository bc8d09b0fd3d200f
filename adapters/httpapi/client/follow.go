package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/wait"
)

// maxRetryPause is the longest pause between attempts to reach the gateway.
const maxRetryPause = time.Second

// NewBackoff returns the pauses between attempts to reach the gateway: most restarts are over
// at once, but a service manager takes some seconds to start another process.
func NewBackoff() *wait.Backoff {
	return &wait.Backoff{First: 50 * time.Millisecond, Most: maxRetryPause}
}

// A Following follows a message to its outcome, over restarts and crashes of the gateway,
// which lose no accepted message. A Following is not safe for concurrent use.
type Following struct {
	Client *Client
	// Patience is how long the gateway may be unreachable before Post gives up.
	Patience time.Duration
	// Event is called with each event of the message's stream except the result; may be nil.
	Event func(Event)
	// Away is called after each failed attempt to reach the gateway, before a pause; may be nil.
	Away func(error)

	message string // empty until the message is accepted
	lastID  string
	reached bool      // the gateway has been reached
	away    time.Time // when the gateway became unreachable; zero while it is reachable
}

// Message returns the id of the message, or an empty text before the message is accepted.
func (f *Following) Message() string { return f.message }

// Post sends a request to path that makes a message, and returns the message's outcome as
// JSON. Post repeats the request if its arrival is unknown: the key, or the path itself,
// has to make sure that a repeated request makes no second message. Post blocks until there
// is an outcome or ctx ends. Errors are those of [Client.Do]; [ErrUnreachable] is also the
// error when Patience has run out.
func (f *Following) Post(ctx context.Context, path string, body any, key string) (json.RawMessage, error) {
	header := http.Header{}
	if key != "" {
		header.Set(api.HeaderIdempotencyKey, key)
	}
	var outcome json.RawMessage
	take := func(e Event) error {
		if e.ID != "" {
			f.lastID = e.ID
		}
		if e.Kind == api.EventResult {
			outcome = json.RawMessage(e.Data)
			return nil
		}
		f.note(e)
		return nil
	}
	pauses := NewBackoff()
	opened := func() {
		f.reached, f.away = true, time.Time{}
		pauses.Reset()
	}
	for {
		var err error
		if f.message == "" {
			err = f.Client.Stream(ctx, http.MethodPost, path, header, body, opened, take)
		} else {
			header := http.Header{api.HeaderLastEventID: {f.lastID}} // an empty id is none
			err = f.Client.Stream(ctx, http.MethodGet, api.MessagePath(f.message)+"/events", header, nil, opened, take)
		}
		if outcome != nil {
			return outcome, nil
		}
		if err := f.lost(ctx, err); err != nil {
			return nil, err
		}
		if err := pauses.Sleep(ctx); err != nil {
			return nil, err
		}
	}
}

// note handles an event that is not the outcome.
func (f *Following) note(e Event) {
	if e.Kind == api.EventAccepted {
		var accepted api.Accepted
		if json.Unmarshal([]byte(e.Data), &accepted) == nil {
			f.message = accepted.ID
		}
	}
	if f.Event != nil {
		f.Event(e)
	}
}

// lost decides what follows a stream that ended without an outcome: nil means another
// attempt.
func (f *Following) lost(ctx context.Context, err error) error {
	refused, isRefusal := errors.AsType[*Error](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil: // the gateway has ended the stream because it restarts or ends
		return nil
	case isRefusal && refused.Code != api.ShuttingDown:
		return err
	case !f.reached && errors.Is(err, ErrUnreachable):
		return err // nothing was sent
	}
	f.reached = true // the gateway may have received the request without time to answer
	if f.away.IsZero() {
		f.away = time.Now()
	}
	if time.Since(f.away) > f.Patience {
		return fmt.Errorf("%w any more: %w", ErrUnreachable, err)
	}
	if f.Away != nil {
		f.Away(err)
	}
	return nil
}

// Updates converts the events of a stream to the updates that the gateway has published.
// Events of the agent name no turn: Updates remembers the turn begun last. The zero value
// serves a stream that begins between two turns.
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
		u.Turn = "" // the stream does not name the turn that has gone back to the queue, and the running one has not
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
		u.Background = &core.Background{ID: b.ID, Text: b.Text, WokenBy: b.WokenBy, IsError: b.IsError, CreatedAt: b.CreatedAt}
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
		ID:      core.MessageID(m.ID),
		Channel: core.ChannelKey(m.Channel),
		Turn:    core.TurnID(m.TurnID),
		State:   core.State(m.State),
		EndedAt: m.EndedAt,
		Reply: core.Reply{
			State:     core.State(m.State),
			Text:      m.Text,
			IsError:   m.IsError,
			Code:      m.Code,
			Duration:  time.Duration(m.DurationMS) * time.Millisecond,
			CostUSD:   m.CostUSD,
			Coalesced: m.Coalesced,
			Into:      core.MessageID(m.Into),
		},
	}
}

// Approval returns core's form of an approval.
func Approval(a *api.Approval) *core.Approval {
	kind := core.ApprovalKind(a.Kind)
	if a.Kind == "tool" {
		kind = core.ApprovalTool
	}
	return &core.Approval{
		ID:         a.ID,
		Kind:       kind,
		Channel:    core.ChannelKey(a.Channel),
		Message:    core.MessageID(a.MessageID),
		Turn:       core.TurnID(a.TurnID),
		State:      core.ApprovalState(a.State),
		Tool:       a.Tool,
		Input:      a.Input,
		Why:        a.Why,
		Suggestion: a.Suggestion,
	}
}
