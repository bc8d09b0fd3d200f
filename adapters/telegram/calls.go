package telegram

import (
	"context"
	"sync"
	"time"
)

// leaveGrace is how long calls that are under way may take to end when the adapter
// is told to: what is cut may have arrived, and would be sent once more.
const leaveGrace = time.Second

// calls counts those that are under way.
type calls struct {
	mu     sync.Mutex // guards the fields below
	under  int
	closed bool          // none is begun any more
	none   chan struct{} // closed when none is under way after that
}

// begin reports whether a call may be begun; end follows it then.
func (c *calls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.under++
	return true
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under--
	if c.closed && c.under == 0 {
		close(c.none)
	}
}

// drain lets no call begin any more, and returns when none is under way, or after
// some time.
func (c *calls) drain(patience time.Duration) {
	c.mu.Lock()
	c.closed, c.none = true, make(chan struct{})
	if c.under == 0 {
		close(c.none)
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-c.none:
	case <-ctx.Done():
	}
}
