package botapi

import (
	"sync"
	"time"
)

// A Clock stands still until it is moved. Its methods may be called from any
// goroutine.
type Clock struct {
	mu  sync.Mutex
	now time.Time // protected by mu
}

// NewClock makes a clock that shows start.
func NewClock(start time.Time) *Clock { return &Clock{now: start} }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
