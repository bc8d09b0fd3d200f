package lanes

import (
	"context"
	"fmt"
	"time"

	"bareclaw/core"
)

// progressEvery is how often it is looked whether the ledger's writer has got further.
const progressEvery = 100 * time.Millisecond

// Alive returns nil once every channel's lane and the ledger's writer have answered,
// so that nothing that has been accepted is stuck in this process. What a lane waits
// for elsewhere (the agent, a person, a disk that refuses) does not count: it answers all
// the same. Nor does a disk that is slow: a writer that has finished anything since it was
// last found alive is. An error says who had not answered when ctx ended. It blocks until
// then at most, unless the manager itself is stuck.
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
			answered[i] = l.done // it retires
		}
	}
	for i, l := range lanes {
		select {
		case <-answered[i]:
		case <-l.done:
		case <-ctx.Done():
			if !isClosed(answered[i]) && !isClosed(l.done) { // the time may be up for another's sake
				return fmt.Errorf("channel %q does not answer: %w", l.key, context.Cause(ctx))
			}
		}
	}
	return m.writerAlive(ctx, written)
}

// writerAlive returns nil once the ledger's writer has done what it was given, or has
// finished something else since this returned nil before.
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
			if !isClosed(written) { // the time may be up for a lane's sake
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
