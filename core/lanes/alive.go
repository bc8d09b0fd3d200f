package lanes

import (
	"context"
	"fmt"
	"time"

	"bareclaw/core"
)

// progressEvery is the interval between checks of the ledger writer's progress.
const progressEvery = 100 * time.Millisecond

// Alive returns nil once every lane and the ledger's writer have answered, proving no
// accepted message is stuck in the process. A lane waiting for the agent, a person or a
// failing disk still answers. A writer slowed by the disk counts as alive after finishing
// any write since the last check. The error names the lane or writer without an answer when
// ctx ended. Alive blocks until ctx ends at most, unless the manager itself is stuck.
func (m *Manager) Alive(ctx context.Context) error {
	written := make(chan struct{})
	m.o.Ledger.Write(core.Change{}, func(error) { close(written) })
	lanes := m.allLanes()
	answered := make([]chan struct{}, len(lanes))
	for i, l := range lanes {
		done := make(chan struct{})
		if l.post(func() { close(done) }) {
			answered[i] = done
		} else {
			answered[i] = l.done // the lane is retiring
		}
	}
	for i, l := range lanes {
		select {
		case <-answered[i]:
		case <-l.done:
		case <-ctx.Done():
			if !isClosed(answered[i]) && !isClosed(l.done) { // ctx may have ended while waiting for another lane
				return fmt.Errorf("channel %q does not answer: %w", l.key, context.Cause(ctx))
			}
		}
	}
	return m.writerAlive(ctx, written)
}

// writerAlive returns nil once written is closed, or the ledger's writer has finished
// another write since writerAlive last returned nil.
func (m *Manager) writerAlive(ctx context.Context, written <-chan struct{}) error {
	look := time.NewTicker(progressEvery)
	defer look.Stop()
	for {
		now := m.o.Ledger.Progress()
		if m.progress.Swap(now) != now || isClosed(written) {
			return nil
		}
		select {
		case <-written:
		case <-ctx.Done():
			if !isClosed(written) { // ctx may have ended while waiting for a lane
				return fmt.Errorf("the ledger's writer does not answer: %w", context.Cause(ctx))
			}
		case <-look.C:
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
