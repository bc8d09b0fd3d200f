package toolhost

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxCalls is the number of calls that the tool host carries out at once.
	maxCalls = 256
	// maxCallsOfTool is how many of them one tool may have, so that it cannot keep all others out.
	maxCallsOfTool = 192
	// admissionTimeout is how long a call waits until others have ended.
	admissionTimeout = 10 * time.Second
)

// An admission bounds the calls under way. All methods are safe for concurrent use.
type admission struct {
	all *semaphore.Weighted

	mu    sync.Mutex                     // guards tools
	tools map[string]*semaphore.Weighted // by name
}

func newAdmission() *admission {
	return &admission{all: semaphore.NewWeighted(maxCalls), tools: map[string]*semaphore.Weighted{}}
}

// enter waits until a call of a tool may begin. The caller calls leave when the call has ended.
func (a *admission) enter(ctx context.Context, tool string) (leave func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, admissionTimeout, fmt.Errorf("%s was not called, because too many calls of tools are under way; call it again later", tool))
	defer cancel()
	own := a.of(tool)
	if own.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	if a.all.Acquire(ctx, 1) != nil {
		own.Release(1)
		return nil, context.Cause(ctx)
	}
	return func() {
		a.all.Release(1)
		own.Release(1)
	}, nil
}

// of returns the share of a tool.
func (a *admission) of(tool string) *semaphore.Weighted {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.tools[tool]
	if s == nil {
		s = semaphore.NewWeighted(maxCallsOfTool)
		a.tools[tool] = s
	}
	return s
}
