// Package feed publishes what happens on channels.
//
// A [Broker] has one stream for each channel that somebody watches. A stream numbers
// its updates and keeps the newest, so that a [Subscription] resumes after the last
// update its reader saw, also after a restart of the gateway.
package feed

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/core"
)

// A Broker holds the streams of all channels. The zero value is ready to use. All
// methods are safe for concurrent use.
type Broker struct {
	mu      sync.RWMutex
	streams map[core.ChannelKey]*stream
	fresh   atomic.Int64 // about how much memory updates took since all was last bounded
}

// Subscribe returns a subscription to what happens on the channel from now on. The
// caller closes it.
func (h *Broker) Subscribe(key core.ChannelKey) *Subscription {
	return h.attach(key, func(f *stream) core.UpdateID { return f.newest() })
}

// Resume returns a subscription to what happened on the channel after the update with
// that id, and to what happens from now on. If that update is not known any more, the
// subscription has a gap and begins with the oldest update that is kept. Resume may
// block while it reads what an earlier process has saved. The caller closes the
// subscription.
func (h *Broker) Resume(key core.ChannelKey, after string) *Subscription {
	id, _ := core.ParseUpdateID(after) // of none that is known, if it is no id at all
	if f := h.stream(key); f != nil {
		f.load(id) // not with the lock of all feeds: it may take a while
		h.noteGrowth(maxStreamBytes)
	}
	return h.attach(key, func(*stream) core.UpdateID { return id })
}

func (h *Broker) attach(key core.ChannelKey, after func(*stream) core.UpdateID) *Subscription {
	h.mu.Lock() // so that the feed is not dropped meanwhile
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

// dropLater drops the feed unless somebody listens meanwhile.
func (h *Broker) dropLater(key core.ChannelKey, f *stream) {
	time.AfterFunc(keepFor, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.streams[key] == f && f.expired() {
			delete(h.streams, key)
		}
	})
}

// stream returns the channel's stream, nil if an update would be seen by nobody.
func (h *Broker) stream(key core.ChannelKey) *stream {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.streams[key]
}

// HasListeners reports whether an update of the channel may be seen: somebody subscribes
// to it, or did a short while ago and may come back.
func (h *Broker) HasListeners(key core.ChannelKey) bool { return h.stream(key) != nil }

// Publish numbers the update and hands it to the channel's subscribers, without waiting
// for them. It drops the update if HasListeners is false.
func (h *Broker) Publish(key core.ChannelKey, u core.Update) {
	if f := h.stream(key); f != nil {
		f.publish(u)
		h.noteGrowth(updateSize(&u) + updateOverhead)
	}
}

// noteGrowth notes that streams keep more than before, and now and then sees to it that
// all of them together keep at most maxTotalBytes.
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

// fairShare returns what each of those may have at most that together have too much: the
// largest give up what is too much.
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

// PublishAtomically calls also and publishes the updates, and lets nobody subscribe
// between the two: who learns of the matter from also and subscribes then does not see
// the updates. The function must not call the broker.
func (h *Broker) PublishAtomically(also func(), key core.ChannelKey, updates []core.Update) {
	h.mu.RLock() // nobody enters meanwhile
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

// PublishedUpTo returns the number of the host's event up to which the channel's stream
// has everything from an earlier process; 0 if it has nothing of that host.
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

// SetPublishedUpTo notes that the channel's stream has everything up to that event of
// the host. For the same host it never goes back.
func (h *Broker) SetPublishedUpTo(key core.ChannelKey, host HostID, seq uint64) {
	f := h.stream(key)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.publishedUpTo.Host == host { // perhaps not everything was said again yet
		seq = max(seq, f.publishedUpTo.Seq)
	}
	f.publishedUpTo = hostPosition{host, seq}
}

// IsUnpublished reports whether an earlier process accepted the message and left its
// outcome to be published by [Broker.PublishUnpublished].
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
