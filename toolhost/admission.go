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

	mu    sync.Mutex        // guards tools and what is in them
	tools map[string]*share // by name; tools without calls have none
}

// A share bounds the calls of one tool.
type share struct {
	running *semaphore.Weighted
	calls   int // that run or wait
}

func newAdmission() *admission {
	return &admission{all: semaphore.NewWeighted(maxCalls), tools: map[string]*share{}}
}

// enter waits until a call of a tool may begin. The caller calls leave when the call has ended.
func (a *admission) enter(ctx context.Context, tool string) (leave func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, admissionTimeout, fmt.Errorf("%s was not called, because too many calls of tools are under way; call it again later", tool))
	defer cancel()
	own := a.join(tool)
	if own.running.Acquire(ctx, 1) != nil {
		a.part(tool, own)
		return nil, context.Cause(ctx)
	}
	if a.all.Acquire(ctx, 1) != nil {
		own.running.Release(1)
		a.part(tool, own)
		return nil, context.Cause(ctx)
	}
	return func() {
		a.all.Release(1)
		own.running.Release(1)
		a.part(tool, own)
	}, nil
}

// join counts a call, and returns the share of its tool.
func (a *admission) join(tool string) *share {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.tools[tool]
	if s == nil {
		s = &share{running: semaphore.NewWeighted(maxCallsOfTool)}
		a.tools[tool] = s
	}
	s.calls++
	return s
}

// part undoes join.
func (a *admission) part(tool string, s *share) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.calls--; s.calls == 0 {
		delete(a.tools, tool)
	}
}
