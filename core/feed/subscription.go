package feed

import (
	"sync"
	"time"

	"bareclaw/core"
)

// maxQueuedEvents bounds what a slow subscriber may leave unread. Beyond it the
// agent's raw lines are dropped and counted; everything else is kept, since it
// is bounded by the messages of the channel.
const maxQueuedEvents = 4096

// A Subscription sees what happens on one channel, each update once and in order.
// It is for one reader and must be closed.
type Subscription struct {
	broker *Broker
	key    core.ChannelKey
	stream *stream
	c      chan struct{}
	from   core.UpdateID
	gap    bool

	mu      sync.Mutex // guards the fields below
	queue   []core.Update
	dropped int
}

// C is signalled when Next may have something.
func (s *Subscription) C() <-chan struct{} { return s.c }

// From returns the id after which the subscription began: with that, one who has
// seen none of its updates resumes it.
func (s *Subscription) From() core.UpdateID { return s.from }

// Gap reports whether it was to be resumed after an update of which it is not
// known any more what followed. Updates may be missing then, and after the death
// of the gateway some may come a second time.
func (s *Subscription) Gap() bool { return s.gap }

// Next returns the oldest unread update, or false when there is none now. It
// does not block.
func (s *Subscription) Next() (core.Update, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		if s.dropped > 0 {
			u := core.Update{Kind: core.UpdateDropped, At: time.Now(), Dropped: s.dropped}
			s.dropped = 0
			return u, true
		}
		return core.Update{}, false
	}
	u := s.queue[0]
	s.queue[0] = core.Update{}
	s.queue = s.queue[1:]
	return u, true
}

// Close ends the subscription.
func (s *Subscription) Close() { s.broker.remove(s) }

func (s *Subscription) add(u core.Update) {
	s.mu.Lock()
	if u.Kind == core.UpdateEvent && len(s.queue) >= maxQueuedEvents {
		s.dropped++
	} else {
		s.queue = append(s.queue, u)
	}
	s.mu.Unlock()
	s.wake()
}

func (s *Subscription) wake() {
	select {
	case s.c <- struct{}{}:
	default: // a wake-up is already owed
	}
}
