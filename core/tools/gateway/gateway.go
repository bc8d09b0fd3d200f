// Package gateway defines the tools with which a session uses the gateway that the session runs
// in. A call that is repeated takes effect once, because messages, pushes and schedules bear the
// key of the call.
package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"bareclaw/core"
	"bareclaw/core/tools"
)

// Options are what the tools use of the gateway. All are required.
type Options struct {
	Channels  Directory
	Submit    func(ctx context.Context, s core.Submission) (*core.Ticket, error) // as lanes.Manager.Submit
	Messages  Messages
	Push      Pusher
	Schedules Scheduler
	// Places says which channels are those of people, in a sentence for the model; empty: none is.
	Places string
	// Inert returns a text that nobody has typed so that it means nothing to the agent's program.
	Inert func(text string) string
	// Restart replaces the process of the gateway. Restart returns when the next process could
	// take over, which begins when answered is closed, or the reason why no process can.
	Restart func(ctx context.Context, answered <-chan struct{}) error
	// RestartBuilds says that Restart runs what the gateway's source is by then.
	RestartBuilds bool
}

// A Directory knows the channels.
type Directory interface {
	Channels(ctx context.Context) ([]core.ChannelStatus, error)
}

// Messages reads messages. The methods are those of lanes.Lookup.
type Messages interface {
	Message(ctx context.Context, id core.MessageID) (core.Message, error)
	QueuePosition(id core.MessageID) core.QueuePosition
	Trace(ctx context.Context, id core.MessageID) (core.Trace, error)
}

// Source returns the source of the gateway's tools.
func Source(o Options) tools.Source { return tools.Fixed(tools.Gateway, Tools(o)...) }

// Tools returns the gateway's tools.
func Tools(o Options) []tools.Tool {
	ch := channels{o.Channels}
	send := &sender{channels: ch, submit: o.Submit, messages: o.Messages, inert: o.Inert}
	push := pushes{o.Push}
	jobs := schedules{ch, o.Schedules, o.Inert}
	trace := traces{o.Messages}
	restart := restarts{o.Restart, o.RestartBuilds}
	return []tools.Tool{
		{
			Name:        "channel_list",
			Description: "List the channels of the gateway: conversations with people, scripts and timers, each with a session of its own.",
			Input:       object(``),
			Annotations: tools.Annotations{Title: "List channels", ReadOnly: true, Idempotent: true},
			Category:    tools.Orchestration,
			Reach:       tools.ReachOwn,
			Handle:      handler(ch.list),
		},
		{
			Name: "channel_send",
			Description: "Send a message to the agent of another channel, and wait for the reply, which comes to you alone. " +
				"If there is no reply within wait_s, the result has the message_id and the state, and message_trace shows the reply later. To reach the people of a channel, use push_send.",
			Input: object(`"channel":{"type":"string","description":"A channel of channel_list."},"text":{"type":"string","minLength":1},`+
				`"wait_s":{"type":"integer","minimum":0,"maximum":600,"description":"How long to wait for the reply, in seconds; 120 by default."}`, "channel", "text"),
			Annotations: tools.Annotations{Title: "Ask another channel", Destructive: tools.No},
			Category:    tools.Orchestration,
			Timeout:     maxWait + waitGrace,
			Keyed:       true,
			Reach:       tools.ReachOf(send.target),
			Handle:      handler(send.send),
		},
		{
			Name:        "push_send",
			Description: strings.TrimSpace("Send a text or a file to the people of a channel, without an agent, also to your own channel before you are done. " + o.Places),
			Input: object(`"channel":{"type":"string"},"text":{"type":"string","description":"Markdown; with a file, the caption."},`+
				`"file":{"type":"string","description":"The path of a file."}`, "channel"),
			Annotations: tools.Annotations{Title: "Send to people", Destructive: tools.No},
			Category:    tools.Orchestration,
			Timeout:     pushTimeout,
			Keyed:       true,
			Reach:       tools.ReachOf(push.target),
			Handle:      handler(push.send),
		},
		{
			Name:        "schedule_create",
			Description: "Have a text sent to a channel later or regularly. The text comes to the agent of the channel as a message, and the answer goes to the people there.",
			Input: object(`"text":{"type":"string","minLength":1},`+
				`"when":{"type":"string","description":"in 20m; at 2030-01-31 09:00; every 2h; or cron 0 9 * * 1-5"},`+
				`"channel":{"type":"string","description":"Your own channel by default."},`+
				`"tz":{"type":"string","description":"The time zone of when, such as Europe/Berlin; that of the machine by default."},`+
				`"missed":{"type":"string","description":"What becomes of a time that the gateway missed: skip, once (sent late) or within 30m."},`+
				`"budget_usd":{"type":"number","minimum":0,"description":"What the messages may cost a day; 0 for any amount."}`, "text", "when"),
			Annotations: tools.Annotations{Title: "Create a schedule", Destructive: tools.No},
			Category:    tools.Orchestration,
			Keyed:       true,
			Reach:       tools.ReachOf(jobs.target),
			Handle:      handler(jobs.create),
		},
		{
			Name:        "schedule_list",
			Description: "List the schedules of all channels with their next times; the texts are those of your own channel.",
			Input:       object(``),
			Annotations: tools.Annotations{Title: "List schedules", ReadOnly: true, Idempotent: true},
			Category:    tools.Orchestration,
			Reach:       tools.ReachOwn,
			Handle:      handler(jobs.list),
		},
		{
			Name:        "schedule_delete",
			Description: "Delete a schedule. Messages that it has sent already go on.",
			Input:       object(`"id":{"type":"string"}`, "id"),
			Annotations: tools.Annotations{Title: "Delete a schedule", Idempotent: true, Destructive: tools.Yes},
			Category:    tools.Orchestration,
			Reach:       tools.ReachOf(jobs.channelOf),
			Handle:      handler(jobs.remove),
		},
		{
			Name:        "restart_self",
			Description: "Restart the gateway, with its present program or, where it builds its source, with the source as it is now. Your turn goes on. A gateway that cannot start is refused, with the reason.",
			Input:       object(``),
			Annotations: tools.Annotations{Title: "Restart the gateway", Destructive: tools.No},
			Category:    tools.Orchestration,
			Timeout:     restartTimeout,
			Reach:       restart.reach(),
			Handle:      handler(restart.restart),
		},
		{
			Name:        "message_trace",
			Description: "Show what became of a message of your channel, or of one that you have sent with channel_send: its state, its reply, and the steps of its turn.",
			Input:       object(`"id":{"type":"string","description":"A message_id."}`, "id"),
			Annotations: tools.Annotations{Title: "Trace a message", ReadOnly: true, Idempotent: true},
			Category:    tools.Orchestration,
			Reach:       tools.ReachOf(trace.channelOf),
			Handle:      handler(trace.show),
		},
	}
}

// object returns the schema of an object with these properties and no others.
func object(properties string, required ...string) json.RawMessage {
	b, err := json.Marshal(struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required,omitempty"`
		Additional bool            `json:"additionalProperties"`
	}{"object", json.RawMessage("{" + properties + "}"), required, false})
	if err != nil {
		panic("gateway: a schema is not JSON: " + err.Error())
	}
	return b
}

// handler returns a handler that decodes the arguments, and encodes the result as an object.
func handler[A any](do func(ctx context.Context, c tools.Call, args A) (any, error)) tools.Handler {
	return tools.WithArgs(func(ctx context.Context, c tools.Call, args A) (tools.Result, error) {
		result, err := do(ctx, c, args)
		if err != nil {
			return tools.Result{}, err
		}
		return tools.Object(result)
	})
}

// sourceKey binds what a call makes to the call; empty for a call without a key.
func sourceKey(c *tools.Call) string {
	if key := c.Key(); key != "" {
		return "tool:" + key
	}
	return ""
}
