package gateway

import (
	"context"
	"fmt"
	"time"

	"bareclaw/core/tools"
)

// restartTimeout is more than it takes to build and start the next process.
const restartTimeout = 6 * time.Minute

type restarts struct {
	begin  func(ctx context.Context, answered <-chan struct{}) error
	builds bool
}

// reach is that of all channels where a restart runs what somebody has written into the source:
// the gateway's process holds the rights of each channel.
func (r restarts) reach() tools.Reach {
	if r.builds {
		return nil
	}
	return tools.ReachOwn
}

func (r restarts) restart(ctx context.Context, c tools.Call, _ struct{}) (any, error) {
	if err := r.begin(ctx, c.Answered); err != nil {
		return nil, fmt.Errorf("the gateway goes on as it is: %w", err)
	}
	return map[string]any{"status": "restarting"}, nil
}
