// Package feed publishes the updates of channels and of the gateway itself.
//
// A [Broker] has a stream for each watched channel, and one for the gateway under the key
// [core.GatewayFeed]. A stream numbers its updates and keeps
// the newest, to let a [Subscription] resume after the last update seen by its reader, even
// after a restart of the gateway.
package feed

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

// A Broker holds the streams of all watched channels. The zero value is ready to use. All
// methods are safe for concurrent use.
type Broker struct {
	mu      sync.RWMutex
	streams map[core.ChannelKey]*stream

	uses     atomic.Uint64 // number of the latest use of a stream
	kept     atomic.Int64  // memory of the kept updates of all streams, approximately
	evicting sync.Mutex    // held by evict
	earlier  *earlier      // the updates of an earlier process; set before the first use
}

// Subscribe returns a subscription to the channel's updates from now on. The caller must
// close the subscription.
func (h *Broker) Subscribe(key core.ChannelKey) *Subscription {
	return h.attach(key, nil)
}

// Resume returns a subscription to the channel's updates after the update with the id after,
// and to all later updates. If the update is no longer known, the subscription has a gap and
// begins with the oldest kept update. Resume may block while reading updates saved by an
// earlier process. The caller must close the subscription.
func (h *Broker) Resume(key core.ChannelKey, after string) *Subscription {
	id, _ := core.ParseUpdateID(after) // the zero id, of no known update, if after is invalid
	if f := h.stream(key); f != nil {
		h.locked(key, func(f *stream) { f.used = h.uses.Add(1) })
		h.load(f, id) // without the lock of all streams, because loading may block
	}
	return h.attach(key, &id)
}

// attach subscribes after the update with the id after; nil means the newest update.
func (h *Broker) attach(key core.ChannelKey, after *core.UpdateID) *Subscription {
	h.mu.Lock() // keeps the stream from being dropped before s is attached
	defer h.mu.Unlock()
	f := h.streams[key]
	if f == nil {
		f = newStream()
		h.putLocked(key, f)
	}
	s := &Subscription{broker: h, key: key, stream: f, c: wait.NewSignal()}
	f.attach(s, after, h.uses.Add(1))
	return s
}

func (h *Broker) putLocked(key core.ChannelKey, f *stream) {
	if h.streams == nil {
		h.streams = map[core.ChannelKey]*stream{}
	}
	h.streams[key] = f
}

// dropLater drops the stream after keepFor unless a subscriber arrives before.
func (h *Broker) dropLater(key core.ChannelKey, f *stream) {
	time.AfterFunc(keepFor, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.streams[key] == f && f.expired() {
			delete(h.streams, key)
			_, kept := f.usage()
			h.kept.Add(-int64(kept))
		}
	})
}

// stream returns the channel's stream; nil if no reader would see an update.
func (h *Broker) stream(key core.ChannelKey) *stream {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.streams[key]
}

// HasListeners reports whether an update of the channel may be seen: by a subscriber, or by
// a recent subscriber who may come back.
func (h *Broker) HasListeners(key core.ChannelKey) bool { return h.stream(key) != nil }

// Publish numbers the update and hands the update to the channel's subscribers, without
// waiting for readers. Publish drops the update if HasListeners is false.
func (h *Broker) Publish(key core.ChannelKey, u core.Update) {
	if f := h.stream(key); f != nil {
		h.account(f.publish(u, h.uses.Add(1)))
	}
}

// account records that a stream keeps n more bytes. If all streams together exceed
// maxKeptBytes, account drops updates until about a sixteenth of the bound is free, so that
// only few updates pay for a look at all streams.
func (h *Broker) account(n int) {
	if h.kept.Add(int64(n)) > maxKeptBytes {
		h.evict(maxKeptBytes - maxKeptBytes/16)
	}
}

// evict drops updates until the streams keep at most limit bytes: the oldest updates of the
// least recently used stream first. A use is an update or a new subscription.
func (h *Broker) evict(limit int) {
	if !h.evicting.TryLock() {
		return
	}
	defer h.evicting.Unlock()
	type candidate struct {
		*stream
		used uint64
	}
	var all []candidate
	total := 0
	h.mu.RLock()
	for _, f := range h.streams {
		used, kept := f.usage()
		all = append(all, candidate{f, used})
		total += kept
	}
	h.mu.RUnlock()
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.used, b.used) })
	for _, f := range all {
		if total <= limit {
			break
		}
		total -= f.shrink(total - limit)
	}
	h.kept.Store(int64(total))
}

// PublishAtomically calls the function also and then publishes the updates, while new
// subscriptions wait: a client that subscribes after also has informed the client does not
// see the updates. A call of the broker within also may deadlock.
func (h *Broker) PublishAtomically(also func(), key core.ChannelKey, updates []core.Update) {
	h.mu.RLock() // blocks new subscriptions
	also()
	grown := 0
	if f := h.streams[key]; f != nil {
		for _, u := range updates {
			grown += f.publish(u, h.uses.Add(1))
		}
	}
	h.mu.RUnlock()
	h.account(grown)
}

// locked calls do with the channel's stream, locked, if any reader would see an update.
func (h *Broker) locked(key core.ChannelKey, do func(*stream)) {
	if f := h.stream(key); f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		do(f)
	}
}

// PublishedUpTo returns the number of the host's last event already published by an earlier
// process on the channel's stream; 0 if no event of the host was published.
func (h *Broker) PublishedUpTo(key core.ChannelKey, host HostID) (seq uint64) {
	h.locked(key, func(f *stream) {
		if f.publishedUpTo.Host == host {
			seq = f.publishedUpTo.Seq
		}
	})
	return seq
}

// SetPublishedUpTo records that the channel's stream has everything up to the host's event
// seq. The number never decreases for the same host.
func (h *Broker) SetPublishedUpTo(key core.ChannelKey, host HostID, seq uint64) {
	h.locked(key, func(f *stream) {
		if f.publishedUpTo.Host == host { // the host may not have replayed every event yet
			seq = max(seq, f.publishedUpTo.Seq)
		}
		f.publishedUpTo = hostPosition{host, seq}
	})
}

// IsUnpublished reports whether an earlier process accepted the message and left the outcome
// to be published by [Broker.PublishUnpublished].
func (h *Broker) IsUnpublished(key core.ChannelKey, id core.MessageID) (owed bool) {
	h.locked(key, func(f *stream) { _, owed = f.unpublished[id] })
	return owed
}

// maxQueuedEvents bounds the unread updates of a slow subscriber. Beyond the bound, the
// agent's raw lines and the updates of the gateway itself are dropped and counted. All other
// updates are kept, because their number is bounded by the messages of the channel.
const maxQueuedEvents = 4096

// A Subscription delivers the updates of a channel, each once and in order. A Subscription
// has a single reader and must be closed.
type Subscription struct {
	broker *Broker
	key    core.ChannelKey
	stream *stream
	c      wait.Signal
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
func (s *Subscription) Close() {
	if s.stream.detach(s) {
		s.broker.dropLater(s.key, s.stream)
	}
}

func (s *Subscription) add(u core.Update) {
	s.mu.Lock()
	droppable := u.Kind == core.UpdateEvent || s.key == core.GatewayFeed
	if droppable && len(s.queue) >= maxQueuedEvents {
		s.dropped++
	} else {
		s.queue = append(s.queue, u)
	}
	s.mu.Unlock()
	s.c.Send()
}
