package core

import (
	"sync"
	"time"
)

// A hub knows the feeds of all channels.
type hub struct {
	mu    sync.RWMutex
	feeds map[ChannelKey]*feed
}

// subscribe sees what happens from now on.
func (h *hub) subscribe(key ChannelKey) *Subscription {
	return h.enter(key, func(f *feed) UpdateID { return f.newest() })
}

// resume sees what happened after the update with that id, and from now on.
func (h *hub) resume(key ChannelKey, after string) *Subscription {
	id, _ := ParseUpdateID(after) // of none that is known, if it is no id at all
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
	}
}

// publishWith is publish together with what others learn from by another way: who knows
// that and subscribes then does not see the updates. It must not call the hub.
func (h *hub) publishWith(also func(), key ChannelKey, updates []Update) {
	h.mu.RLock() // nobody enters meanwhile
	defer h.mu.RUnlock()
	also()
	f := h.feeds[key]
	if f == nil {
		return
	}
	for _, u := range updates {
		f.publish(u)
	}
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
