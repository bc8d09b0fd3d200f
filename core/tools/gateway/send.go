package gateway

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
)

const (
	// defaultWait and maxWait bound how long channel_send waits for the reply.
	defaultWait = 2 * time.Minute
	maxWait     = 10 * time.Minute
	// waitGrace is more than a message takes to be accepted.
	waitGrace = time.Minute
	// maxDepth bounds chains of messages in which each is sent to answer the one before, so that
	// agents do not talk to each other for ever.
	maxDepth = 3
	// keyKept is longer than a call may be repeated.
	keyKept = 72 * time.Hour
	// sendAdapter is the adapter that a message of channel_send names to its agent.
	sendAdapter = "channel_send"
)

// A sender sends messages from channel to channel.
type sender struct {
	channels channels
	submit   func(context.Context, core.Submission) (*core.Ticket, error)
	messages Messages
	inert    func(text string) string
	waits    waits
}

type sendArgs struct {
	Channel core.ChannelKey `json:"channel"`
	Text    string          `json:"text"`
	WaitS   *int            `json:"wait_s"`
}

func (*sender) target(_ context.Context, _ tools.Call, args sendArgs) (core.ChannelKey, error) {
	return args.Channel, nil
}

// wait is how long the call waits for the reply, from the time of the call.
func (a *sendArgs) wait(at time.Time) time.Duration {
	d := defaultWait
	if a.WaitS != nil {
		d = time.Duration(*a.WaitS) * time.Second
	}
	if !at.IsZero() { // a repeated call has waited before
		d -= time.Since(at)
	}
	return max(0, d)
}

// sent is the result of channel_send.
type sent struct {
	Channel   core.ChannelKey `json:"channel"`
	MessageID core.MessageID  `json:"message_id"`
	State     core.State      `json:"state"`
	Reply     string          `json:"reply,omitempty"`
	Code      string          `json:"code,omitempty"`
	Error     string          `json:"error,omitempty"`
	Why       string          `json:"why,omitempty"` // the message waits
	Until     time.Time       `json:"until,omitzero"`
}

func (s *sender) send(ctx context.Context, c tools.Call, args sendArgs) (any, error) {
	if args.Channel == c.Channel {
		return nil, fmt.Errorf("%q is your own channel: your answer goes there by itself, and push_send sends a text there before", args.Channel)
	}
	if err := s.channels.check(ctx, args.Channel); err != nil {
		return nil, err
	}
	depth := c.Depth + 1
	if depth > maxDepth {
		return nil, fmt.Errorf("not sent: the message that you answer is the last of %d from channel to channel; answer it instead", maxDepth)
	}
	wait := args.wait(c.At)
	done, ok := s.waits.begin(c.Channel, args.Channel)
	switch {
	case ok:
		defer done()
	case c.Repeated: // the message may have been sent
		wait = 0
	default:
		return nil, fmt.Errorf("not sent: channel %q waits for an answer of yours, directly or through others, so neither could go on; answer first", args.Channel)
	}
	sub := core.Submission{
		Channel: args.Channel,
		Adapter: sendAdapter,
		Origin:  core.Origin{User: s.inert(string(c.Channel))},
		Content: core.Content{Text: s.inert(args.Text)},
		Depth:   depth,
		KeyKept: keyKept,
	}
	if key := sourceKey(&c); key != "" {
		sub.SourceKey = "channel_send:" + strconv.Itoa(depth) + ":" + key
	}
	t, err := s.submit(ctx, sub)
	if err != nil {
		return nil, fmt.Errorf("send to channel %q: %w", args.Channel, err)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-t.Done():
	case <-t.Parked():
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return s.result(ctx, t.Message.ID)
}

// result describes a message as it is now.
func (s *sender) result(ctx context.Context, id core.MessageID) (any, error) {
	m, err := s.messages.Message(ctx, id)
	if err != nil {
		return nil, err
	}
	r := sent{Channel: m.Channel, MessageID: id, State: m.State, Code: m.Reply.Code, Error: m.Reply.Error}
	switch {
	case m.State == core.Answered:
		r.Reply, err = replyText(ctx, s.messages, &m)
	case !m.State.Final():
		at := s.messages.QueuePosition(id)
		r.Why, r.Until = at.Why, at.Until
	}
	return r, err
}

// replyText returns the answer to a message, which another message may carry.
func replyText(ctx context.Context, messages Messages, m *core.Message) (string, error) {
	if !m.Reply.Coalesced || m.Reply.Into == "" {
		return m.Reply.Text, nil
	}
	carrier, err := messages.Message(ctx, m.Reply.Into)
	return carrier.Reply.Text, err
}
