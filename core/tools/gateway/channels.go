package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
)

type channels struct{ Directory }

// A channel is a row of channel_list.
type channel struct {
	Channel  core.ChannelKey `json:"channel"`
	Own      bool            `json:"own,omitempty"` // of the session that asks
	State    string          `json:"state"`
	Waiting  int             `json:"waiting,omitempty"`
	Messages int             `json:"messages"`
	LastAt   time.Time       `json:"last_at,omitzero"`
}

func (ch channels) list(ctx context.Context, c tools.Call, _ struct{}) (any, error) {
	all, err := ch.Channels(ctx)
	list := make([]channel, len(all))
	for i, st := range all {
		list[i] = channel{st.Key, st.Key == c.Channel, st.State, st.Waiting, st.Messages, st.LastAt}
	}
	return map[string]any{"channels": list}, err
}

// check returns an error that names similar channels if a channel does not exist.
func (ch channels) check(ctx context.Context, key core.ChannelKey) error {
	all, err := ch.Channels(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, st := range all {
		names[i] = string(st.Key)
	}
	if slices.Contains(names, string(key)) {
		return nil
	}
	if like := tools.Nearest(string(key), names); like != nil {
		return fmt.Errorf("there is no channel %.300q; did you mean %s?", key, strings.Join(like, ", "))
	}
	return fmt.Errorf("there is no channel %.300q; channel_list lists all", key)
}
