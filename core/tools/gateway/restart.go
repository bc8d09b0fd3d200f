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
	begin func(ctx context.Context, answered <-chan struct{}) error
}

func (r restarts) restart(ctx context.Context, c tools.Call, _ struct{}) (any, error) {
	if err := r.begin(ctx, c.Answered); err != nil {
		return nil, fmt.Errorf("the gateway goes on as it is: %w", err)
	}
	return map[string]any{"status": "restarting"}, nil
}
