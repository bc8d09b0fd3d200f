package wait

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Backoff returns the pauses between attempts that fail, or between starts of a process that ends:
// First, then twice the pause before, up to Most. A Backoff is not safe for concurrent use.
type Backoff struct {
	First time.Duration // positive
	Most  time.Duration // at least First
	// Steady is how long a process must have run for its earlier failures to be forgotten; 0: any time is too short.
	Steady time.Duration
	// Jitter is the part of each pause, from 0 to 1, by which a pause may be shorter, at random: callers that
	// fail together then do not retry together.
	Jitter float64

	failures int           // in a row
	last     time.Duration // without jitter; 0 after no failure
}

// Next counts a failure and returns the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	b.failures++
	b.last = min(max(2*b.last, b.First), b.Most)
	return b.last - time.Duration(b.Jitter*rand.Float64()*float64(b.last)) //nolint:gosec // nobody gains by a guess
}

// NextAfter is Next for a process that ended after running for a duration. A process that ran for
// longer than Steady counts as the first failure.
func (b *Backoff) NextAfter(ran time.Duration) time.Duration {
	if b.Steady > 0 && ran > b.Steady {
		b.Reset()
	}
	return b.Next()
}

// Sleep counts a failure and blocks for the pause before the next attempt. If ctx ends before,
// Sleep returns the cause of ctx.
func (b *Backoff) Sleep(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Failures returns the number of failures since the last Reset.
func (b *Backoff) Failures() int { return b.failures }

// Reset forgets the failures. It follows a success.
func (b *Backoff) Reset() {
	b.failures = 0
	b.last = 0
}
