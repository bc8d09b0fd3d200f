package capture

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxFailures = 10 // until capture is off
	offFor      = 5 * time.Minute
)

// A breaker turns capture off that fails again and again.
type breaker struct {
	failures atomic.Int32
	offUntil atomic.Int64 // in nanoseconds of Unix time; 0: is on
}

// fail counts a failure, and reports whether it turned capture off.
func (b *breaker) fail(now time.Time) bool {
	if b.failures.Add(1) < maxFailures {
		return false
	}
	b.failures.Store(0)
	b.offUntil.Store(now.Add(offFor).UnixNano())
	return true
}

func (b *breaker) isOff(now time.Time) bool {
	until := b.offUntil.Load()
	return until != 0 && now.UnixNano() < until
}

// A sampler lets through so many a second, evenly spread where there are more.
type sampler struct {
	mu   sync.Mutex
	next time.Time // when the latest one would have come at the full rate
}

// samplerBurst is how far ahead of the rate a sampler lets through.
const samplerBurst = time.Second / 2

// take reports whether one more is let through.
func (s *sampler) take(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next.Sub(now) > samplerBurst {
		return false
	}
	if s.next.Before(now) {
		s.next = now
	}
	s.next = s.next.Add(time.Second / bodiesPerSecond)
	return true
}
