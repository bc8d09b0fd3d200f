package script

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"bareclaw/toolhost/api"
)

const (
	// maxComputing is how many calls of a tool compute at once.
	maxComputing = 4
	// maxBegun is how many calls of a tool have a machine. Those beyond maxComputing wait for a timer, a
	// function or their turn.
	maxBegun = 64
)

// turns decide which calls of a tool compute. A call that waits for something from outside lets another one
// compute meanwhile, unless its machine holds much memory. All methods are safe for concurrent use.
type turns struct {
	begun     *semaphore.Weighted // a token for each call that has a machine
	entry     *semaphore.Weighted // the token of the next call to begin: those that go on come before the others
	computing *semaphore.Weighted // a token for each call that computes

	running, waiting atomic.Int32
}

func newTurns() *turns {
	return &turns{begun: semaphore.NewWeighted(maxBegun), entry: semaphore.NewWeighted(1), computing: semaphore.NewWeighted(maxComputing)}
}

// count returns how many calls have begun, and how many wait to begin.
func (ts *turns) count() (running, waiting int) {
	return int(ts.running.Load()), int(ts.waiting.Load())
}

// begin waits until a call of a tool may have a machine and compute. The caller ends the turn.
func (ts *turns) begin(ctx context.Context, tool string) (*turn, error) {
	late := fmt.Errorf("the call of %s has not begun: its other calls took all its machines for %s; call it again later", tool, api.MachineWait)
	ctx, cancel := context.WithTimeoutCause(ctx, api.MachineWait, late)
	defer cancel()
	ts.waiting.Add(1)
	defer ts.waiting.Add(-1)
	for i, s := range []*semaphore.Weighted{ts.begun, ts.entry, ts.computing} {
		if s.Acquire(ctx, 1) == nil {
			continue
		}
		if i > 0 {
			ts.begun.Release(1)
		}
		if i > 1 {
			ts.entry.Release(1)
		}
		return nil, context.Cause(ctx)
	}
	ts.entry.Release(1)
	ts.running.Add(1)
	return &turn{of: ts, computes: true}, nil
}

// A turn is a call that has begun. One goroutine at a time uses it; nil stands for code that computes without
// waiting for others.
type turn struct {
	of       *turns
	computes bool
	waited   atomic.Int64 // nanoseconds in resume
}

// pause lets another call compute.
func (t *turn) pause() {
	if t != nil && t.computes {
		t.computes = false
		t.of.computing.Release(1)
	}
}

// resume waits until the call may compute again, or ctx ends.
func (t *turn) resume(ctx context.Context) error {
	if t == nil || t.computes {
		return nil
	}
	began := time.Now()
	defer func() { t.waited.Add(int64(time.Since(began))) }()
	if t.of.computing.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	t.computes = true
	return nil
}

// end ends the call.
func (t *turn) end() {
	t.pause()
	t.of.running.Add(-1)
	t.of.begun.Release(1)
}

// A lateError says that a call took too long.
type lateError struct {
	tool  string
	limit time.Duration
	turn  *turn
}

// Error tells also how long the call waited for others of the tool, if that matters.
func (e *lateError) Error() string {
	if waited := time.Duration(e.turn.waited.Load()); waited > e.limit/10 {
		return fmt.Sprintf("%s did not end within %s, of which it waited %s for other calls of it that computed", e.tool, e.limit, waited.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s did not end within %s", e.tool, e.limit)
}
