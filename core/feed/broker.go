// Package feed publishes the updates of channels.
//
// A [Broker] has a stream for each watched channel. A stream numbers its updates and keeps
// the newest, to let a [Subscription] resume after the last update seen by its reader, even
// after a restart of the gateway.
package feed

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/core"
)

// A Broker holds the streams of all watched channels. The zero value is ready to use. All
// methods are safe for concurrent use.
type Broker struct {
	mu      sync.RWMutex
	streams map[core.ChannelKey]*stream
	fresh   atomic.Int64 // approximate memory taken by updates since all streams were last bounded
}

// Subscribe returns a subscription to the channel's updates from now on. The caller must
// close the subscription.
func (h *Broker) Subscribe(key core.ChannelKey) *Subscription {
	return h.attach(key, func(f *stream) core.UpdateID { return f.newest() })
}

// Resume returns a subscription to the channel's updates after the update with the id after,
// and to all later updates. If the update is no longer known, the subscription has a gap and
// begins with the oldest kept update. Resume may block while reading updates saved by an
// earlier process. The caller must close the subscription.
func (h *Broker) Resume(key core.ChannelKey, after string) *Subscription {
	id, _ := core.ParseUpdateID(after) // the zero id, of no known update, if after is invalid
	if f := h.stream(key); f != nil {
		f.load(id) // without the lock of all streams, because loading may block
		h.noteGrowth(maxStreamBytes)
	}
	return h.attach(key, func(*stream) core.UpdateID { return id })
}

func (h *Broker) attach(key core.ChannelKey, after func(*stream) core.UpdateID) *Subscription {
	h.mu.Lock() // keeps the stream from being dropped before s is attached
	defer h.mu.Unlock()
	f := h.streams[key]
	if f == nil {
		f = newStream()
		h.putLocked(key, f)
	}
	s := &Subscription{broker: h, key: key, stream: f, c: make(chan struct{}, 1)}
	f.attach(s, after(f))
	return s
}

func (h *Broker) putLocked(key core.ChannelKey, f *stream) {
	if h.streams == nil {
		h.streams = map[core.ChannelKey]*stream{}
	}
	h.streams[key] = f
}

func (h *Broker) remove(s *Subscription) {
	if s.stream.detach(s) {
		h.dropLater(s.key, s.stream)
	}
}

// dropLater drops the stream after keepFor unless a subscriber arrives before.
func (h *Broker) dropLater(key core.ChannelKey, f *stream) {
	time.AfterFunc(keepFor, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.streams[key] == f && f.expired() {
			delete(h.streams, key)
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
		f.publish(u)
		h.noteGrowth(updateSize(&u) + updateOverhead)
	}
}

// noteGrowth records that streams have grown by n bytes. Each time the growth adds up to
// maxStreamBytes, noteGrowth shrinks the largest streams until all together keep at most
// maxTotalBytes.
func (h *Broker) noteGrowth(n int) {
	if h.fresh.Add(int64(n)) < maxStreamBytes {
		return
	}
	h.fresh.Store(0)
	h.mu.RLock()
	feeds := slices.Collect(maps.Values(h.streams))
	h.mu.RUnlock()
	weights := make([]int, len(feeds))
	for i, f := range feeds {
		weights[i] = f.weight()
	}
	most := fairShare(weights, maxTotalBytes)
	for i, f := range feeds {
		if weights[i] > most {
			f.shrink(most)
		}
	}
}

// fairShare returns the largest weight allowed for each stream, to keep the sum of all
// weights below total: only the largest weights are reduced.
func fairShare(weights []int, total int) (most int) {
	left := total
	ascending := slices.Sorted(slices.Values(weights))
	for i, w := range ascending {
		if most = left / (len(ascending) - i); w > most {
			return most
		}
		left -= w
	}
	return total
}

// PublishAtomically calls also and publishes the updates, and blocks new subscriptions in
// between: a client informed by also that then subscribes does not see the updates. The
// function also must not call the broker.
func (h *Broker) PublishAtomically(also func(), key core.ChannelKey, updates []core.Update) {
	h.mu.RLock() // blocks new subscriptions
	also()
	grown := 0
	if f := h.streams[key]; f != nil {
		for _, u := range updates {
			f.publish(u)
			grown += updateSize(&u) + updateOverhead
		}
	}
	h.mu.RUnlock()
	h.noteGrowth(grown)
}

// PublishedUpTo returns the number of the host's last event already published by an earlier
// process on the channel's stream; 0 if no event of the host was published.
func (h *Broker) PublishedUpTo(key core.ChannelKey, host HostID) uint64 {
	f := h.stream(key)
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.publishedUpTo.Host != host {
		return 0
	}
	return f.publishedUpTo.Seq
}

// SetPublishedUpTo records that the channel's stream has everything up to the host's event
// seq. The number never decreases for the same host.
func (h *Broker) SetPublishedUpTo(key core.ChannelKey, host HostID, seq uint64) {
	f := h.stream(key)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.publishedUpTo.Host == host { // the host may not have replayed every event yet
		seq = max(seq, f.publishedUpTo.Seq)
	}
	f.publishedUpTo = hostPosition{host, seq}
}

// IsUnpublished reports whether an earlier process accepted the message and left the outcome
// to be published by [Broker.PublishUnpublished].
func (h *Broker) IsUnpublished(key core.ChannelKey, id core.MessageID) bool {
	f := h.stream(key)
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, owed := f.unpublished[id]
	return owed
}
