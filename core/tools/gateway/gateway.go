// Package gateway defines the tools with which a session uses the gateway that the session runs
// in.
package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
)

// A Directory knows the channels.
type Directory interface {
	Channels(ctx context.Context) ([]core.ChannelStatus, error)
}

// Tools returns the gateway's tools.
func Tools(channels Directory) []tools.Tool {
	return []tools.Tool{{
		Name:        "channel_list",
		Description: "List the channels of the gateway: conversations with people, scripts and timers, each with a session of its own.",
		Input:       json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Annotations: tools.Annotations{ReadOnly: true, Idempotent: true},
		Handle: func(ctx context.Context, c tools.Call) (tools.Result, error) {
			return listChannels(ctx, channels, c.Channel)
		},
	}}
}

// A channel is a row of channel_list.
type channel struct {
	Channel  core.ChannelKey `json:"channel"`
	Own      bool            `json:"own,omitempty"` // of the session that asks
	State    string          `json:"state"`
	Waiting  int             `json:"waiting,omitempty"`
	Messages int             `json:"messages"`
	LastAt   time.Time       `json:"last_at,omitzero"`
}

func listChannels(ctx context.Context, directory Directory, own core.ChannelKey) (tools.Result, error) {
	all, err := directory.Channels(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	list := make([]channel, len(all))
	for i, st := range all {
		list[i] = channel{st.Key, st.Key == own, st.State, st.Waiting, st.Messages, st.LastAt}
	}
	return structured(map[string]any{"channels": list})
}

// structured returns a result that is an object.
func structured(v any) (tools.Result, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return tools.Result{}, fmt.Errorf("encode the result: %w", err)
	}
	return tools.Result{Structured: b}, nil
}
