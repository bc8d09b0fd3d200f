// Package wait has the ways to wait that several packages need.
package wait

import (
	"context"
	"time"
)

// Sleep blocks for a duration. If ctx ends before, Sleep returns the cause of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Poll calls done until done reports true or returns an error, at once and then with pauses.
// Poll returns that error, or the cause of ctx if ctx ends before.
func Poll(ctx context.Context, pause time.Duration, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// IsClosed reports whether a channel that nothing is sent to is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A Signal wakes the goroutine that receives from the channel.
type Signal chan struct{}

// NewSignal returns a Signal.
func NewSignal() Signal { return make(Signal, 1) }

// Send wakes the goroutine, now or when the goroutine receives next. Several calls before
// that wake the goroutine once. Send never blocks.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default: // a wake-up is pending
	}
}

// Earliest returns the earliest of the moments that are not zero; zero if all are.
func Earliest(moments ...time.Time) (first time.Time) {
	for _, t := range moments {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// Latest returns the latest of the moments.
func Latest(moments ...time.Time) (last time.Time) {
	for _, t := range moments {
		if t.After(last) {
			last = t
		}
	}
	return last
}
