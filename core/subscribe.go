package core

import (
	"encoding/json"
	"sync"
	"time"
)

// UpdateKind names what an [Update] reports.
type UpdateKind string

// The kinds of updates.
const (
	UpdateAccepted       UpdateKind = "accepted" // Message
	UpdateQueued         UpdateKind = "queued"   // Message, Position; Detail: what keeps it waiting, besides those before it
	UpdateStarted        UpdateKind = "started"  // Turn, Messages
	UpdateEvent          UpdateKind = "event"    // Turn, Messages, Raw
	UpdateResult         UpdateKind = "result"   // Message with its outcome; one update a message
	UpdateApproval       UpdateKind = "approval" // Approval
	UpdateApprovalClosed UpdateKind = "approval_closed"
	UpdateBackground     UpdateKind = "background" // Background
	UpdateRetrying       UpdateKind = "retrying"   // Detail
	UpdateStalled        UpdateKind = "stalled"    // Turn, Messages, Detail: how long nothing was heard, and of what last
	UpdateParked         UpdateKind = "parked"     // Messages that wait, Detail: why nothing is begun, and until when
	UpdateSession        UpdateKind = "session"    // Detail: what happened to the session
	UpdateDropped        UpdateKind = "dropped"    // Dropped events: the subscriber was too slow
)

// An Update is one thing that happened on a channel.
type Update struct {
	Kind       UpdateKind
	At         time.Time
	Turn       TurnID
	Messages   []MessageID
	Message    *Message
	Position   int
	Raw        json.RawMessage // the agent's line, unchanged; must not be modified
	Approval   *Approval
	Background *Background
	Detail     string
	Dropped    int
}

// maxQueuedEvents bounds what a slow subscriber may leave unread. Beyond it the
// agent's raw lines are dropped and counted; everything else is kept, since it
// is bounded by the messages of the channel.
const maxQueuedEvents = 4096

// A Subscription sees what happens on one channel from the moment it was made.
// It is for one reader and must be closed.
type Subscription struct {
	hub *hub
	key ChannelKey
	c   chan struct{}

	mu      sync.Mutex // guards the fields below
	queue   []Update
	dropped int
}

// C is signalled when Next may have something.
func (s *Subscription) C() <-chan struct{} { return s.c }

// Next returns the oldest unread update, or false when there is none now. It
// does not block.
func (s *Subscription) Next() (Update, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		if s.dropped > 0 {
			u := Update{Kind: UpdateDropped, At: time.Now(), Dropped: s.dropped}
			s.dropped = 0
			return u, true
		}
		return Update{}, false
	}
	u := s.queue[0]
	s.queue[0] = Update{}
	s.queue = s.queue[1:]
	return u, true
}

// Close ends the subscription.
func (s *Subscription) Close() { s.hub.remove(s) }

func (s *Subscription) add(u Update) {
	s.mu.Lock()
	if u.Kind == UpdateEvent && len(s.queue) >= maxQueuedEvents {
		s.dropped++
	} else {
		s.queue = append(s.queue, u)
	}
	s.mu.Unlock()
	select {
	case s.c <- struct{}{}:
	default: // a wake-up is already owed
	}
}

// A hub knows the subscriptions of all channels.
type hub struct {
	mu   sync.RWMutex
	subs map[ChannelKey][]*Subscription
}

func (h *hub) subscribe(key ChannelKey) *Subscription {
	s := &Subscription{hub: h, key: key, c: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs == nil {
		h.subs = map[ChannelKey][]*Subscription{}
	}
	// A new slice each time: publish reads the old one without the lock.
	h.subs[key] = append(h.subs[key][:len(h.subs[key]):len(h.subs[key])], s)
	return s
}

func (h *hub) remove(s *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var rest []*Subscription
	for _, other := range h.subs[s.key] {
		if other != s {
			rest = append(rest, other)
		}
	}
	if len(rest) == 0 {
		delete(h.subs, s.key)
		return
	}
	h.subs[s.key] = rest
}

// listening reports whether anybody would see an update of the channel.
func (h *hub) listening(key ChannelKey) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.subs[key]) > 0
}

func (h *hub) publish(key ChannelKey, u Update) {
	h.mu.RLock()
	subs := h.subs[key]
	h.mu.RUnlock()
	for _, s := range subs {
		s.add(u)
	}
}
