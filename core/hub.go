package core

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A hub knows the feeds of all channels.
type hub struct {
	mu    sync.RWMutex
	feeds map[ChannelKey]*feed
	fresh atomic.Int64 // about how much memory updates took since all was last bounded
}

// subscribe sees what happens from now on.
func (h *hub) subscribe(key ChannelKey) *Subscription {
	return h.enter(key, func(f *feed) UpdateID { return f.newest() })
}

// resume sees what happened after the update with that id, and from now on.
func (h *hub) resume(key ChannelKey, after string) *Subscription {
	id, _ := ParseUpdateID(after) // of none that is known, if it is no id at all
	if f := h.feed(key); f != nil {
		f.load(id) // not with the lock of all feeds: it may take a while
		h.grown(keptBytes)
	}
	return h.enter(key, func(*feed) UpdateID { return id })
}

func (h *hub) enter(key ChannelKey, after func(*feed) UpdateID) *Subscription {
	h.mu.Lock() // so that the feed is not dropped meanwhile
	defer h.mu.Unlock()
	f := h.feeds[key]
	if f == nil {
		f = newFeed()
		h.putLocked(key, f)
	}
	s := &Subscription{hub: h, key: key, feed: f, c: make(chan struct{}, 1)}
	f.enter(s, after(f))
	return s
}

func (h *hub) putLocked(key ChannelKey, f *feed) {
	if h.feeds == nil {
		h.feeds = map[ChannelKey]*feed{}
	}
	h.feeds[key] = f
}

func (h *hub) remove(s *Subscription) {
	if s.feed.leave(s) {
		h.dropLater(s.key, s.feed)
	}
}

// dropLater drops the feed unless somebody listens meanwhile.
func (h *hub) dropLater(key ChannelKey, f *feed) {
	time.AfterFunc(keptFor, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.feeds[key] == f && f.over() {
			delete(h.feeds, key)
		}
	})
}

// feed returns the channel's feed, nil if an update would be seen by nobody.
func (h *hub) feed(key ChannelKey) *feed {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.feeds[key]
}

func (h *hub) listening(key ChannelKey) bool { return h.feed(key) != nil }

func (h *hub) publish(key ChannelKey, u Update) {
	if f := h.feed(key); f != nil {
		f.publish(u)
		h.grown(updateSize(&u) + updateOverhead)
	}
}

// grown notes that feeds keep more than before, and now and then sees to it that all of
// them together keep at most keptTotal.
func (h *hub) grown(n int) {
	if h.fresh.Add(int64(n)) < keptBytes {
		return
	}
	h.fresh.Store(0)
	h.mu.RLock()
	feeds := slices.Collect(maps.Values(h.feeds))
	h.mu.RUnlock()
	weights := make([]int, len(feeds))
	for i, f := range feeds {
		weights[i] = f.weight()
	}
	most := fairShare(weights, keptTotal)
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

// publishWith is publish together with what others learn from by another way: who knows
// that and subscribes then does not see the updates. It must not call the hub.
func (h *hub) publishWith(also func(), key ChannelKey, updates []Update) {
	h.mu.RLock() // nobody enters meanwhile
	also()
	grown := 0
	if f := h.feeds[key]; f != nil {
		for _, u := range updates {
			f.publish(u)
			grown += updateSize(&u) + updateOverhead
		}
	}
	h.mu.RUnlock()
	h.grown(grown)
}

// published returns up to which event of the host the channel's feed has
// everything from an earlier process.
func (h *hub) published(key ChannelKey, host hostID) uint64 {
	f := h.feed(key)
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.floor.Host != host {
		return 0
	}
	return f.floor.Seq
}

// raise notes that the channel's feed has everything up to that event of the host.
func (h *hub) raise(key ChannelKey, host hostID, seq uint64) {
	f := h.feed(key)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.floor.Host == host { // perhaps not everything was said again yet
		seq = max(seq, f.floor.Seq)
	}
	f.floor = floor{host, seq}
}

// owes reports whether an earlier process had not published the message's outcome.
func (h *hub) owes(key ChannelKey, id MessageID) bool {
	f := h.feed(key)
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, owed := f.owed[id]
	return owed
}
