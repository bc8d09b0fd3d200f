package toolhost

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"bareclaw/core"
)

const (
	// maxCalls is the number of calls that the tool host has at once, those included that wait there
	// for a machine.
	maxCalls = 256
	// maxCallsOfTool is how many of them one channel may have of one tool, so that slow tools leave room
	// for others.
	maxCallsOfTool = 16
	// maxCallsOfCaller is how many of them one channel may have, and all clients outside of sessions
	// together, so that none keeps the others out.
	maxCallsOfCaller = 64
	// admissionTimeout is how long a call waits until others have ended.
	admissionTimeout = 10 * time.Second
)

// An admission bounds the calls under way. All methods are safe for concurrent use.
type admission struct {
	tools, callers *shares // of a channel's calls of a tool, and of a channel's calls
	all            *semaphore.Weighted
}

func newAdmission() *admission {
	return &admission{newShares(maxCallsOfTool), newShares(maxCallsOfCaller), semaphore.NewWeighted(maxCalls)}
}

// enter waits until a call may begin that a channel makes of a tool; no channel stands for all clients
// outside of sessions. The caller calls leave when the call has ended.
func (a *admission) enter(ctx context.Context, tool string, channel core.ChannelKey) (leave func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, admissionTimeout, fmt.Errorf("%s was not called, because too many calls of tools are under way; call it again later", tool))
	defer cancel()
	leaveTool, err := a.tools.enter(ctx, string(channel)+"\x00"+tool) // first: what waits for a slow tool takes nothing else
	if err != nil {
		return nil, err
	}
	leaveCaller, err := a.callers.enter(ctx, string(channel))
	if err != nil {
		leaveTool()
		return nil, err
	}
	if a.all.Acquire(ctx, 1) != nil {
		leaveCaller()
		leaveTool()
		return nil, context.Cause(ctx)
	}
	return func() {
		a.all.Release(1)
		leaveCaller()
		leaveTool()
	}, nil
}

// shares bound the calls that have a name in common. All methods are safe for concurrent use.
type shares struct {
	size int64 // of each share

	mu     sync.Mutex        // guards byName and what is in it
	byName map[string]*share // names without calls have none
}

// A share bounds the calls of one name.
type share struct {
	running *semaphore.Weighted
	calls   int // that run or wait
}

func newShares(size int64) *shares { return &shares{size: size, byName: map[string]*share{}} }

// enter waits until a call of a name may begin, or ctx ends.
func (s *shares) enter(ctx context.Context, name string) (leave func(), err error) {
	own := s.join(name)
	if own.running.Acquire(ctx, 1) != nil {
		s.part(name, own)
		return nil, context.Cause(ctx)
	}
	return func() {
		own.running.Release(1)
		s.part(name, own)
	}, nil
}

// join counts a call, and returns the share of its name.
func (s *shares) join(name string) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byName[name]
	if own == nil {
		own = &share{running: semaphore.NewWeighted(s.size)}
		s.byName[name] = own
	}
	own.calls++
	return own
}

// part undoes join.
func (s *shares) part(name string, own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.calls--; own.calls == 0 {
		delete(s.byName, name)
	}
}
