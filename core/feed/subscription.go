package feed

import (
	"sync"
	"time"

	"bareclaw/core"
)

// maxQueuedEvents bounds the unread updates of a slow subscriber. Beyond the bound, the
// agent's raw lines are dropped and counted. All other updates are kept, because their
// number is bounded by the messages of the channel.
const maxQueuedEvents = 4096

// A Subscription delivers the updates of a channel, each once and in order. A Subscription
// has a single reader and must be closed.
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

// C returns the channel signalled when Next may have an update.
func (s *Subscription) C() <-chan struct{} { return s.c }

// From returns the id after which the subscription began. A reader that has seen none of the
// updates resumes with From.
func (s *Subscription) From() core.UpdateID { return s.from }

// Gap reports whether the subscription should have resumed after an update whose successors
// are no longer known. Updates may then be missing; after the death of the gateway, some may
// be repeated.
func (s *Subscription) Gap() bool { return s.gap }

// Next returns the oldest unread update, or false without an unread update. Next does not
// block.
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
	default: // a wake-up is already pending
	}
}
