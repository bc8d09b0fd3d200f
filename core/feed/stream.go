package feed

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
	"unsafe"

	"bareclaw/core"
)

const (
	// maxUpdates and maxStreamBytes bound the updates kept by a stream for returning
	// clients. An agent emits at most a few hundred events a second; a restart, or a client's
	// reconnection, takes less than a second.
	maxUpdates     = 2048
	maxStreamBytes = 1 << 20
	// maxKeptBytes bounds the memory of the updates kept by all streams together.
	maxKeptBytes = 4 << 20
	// keepFor is how long a stream lasts without subscribers.
	keepFor = 2 * time.Minute
)

// A stream publishes the updates of a channel to subscribers and keeps the newest updates
// for returning clients. A stream exists only while a subscriber listens and for keepFor
// afterwards: a channel without watchers costs nothing.
type stream struct {
	id uint64

	mu     sync.Mutex // guards the fields below
	last   uint64     // number of the newest update, 0 before the first
	kept   ring       // newest updates, without a gap up to last
	used   uint64     // number of the latest use; see Broker.uses
	subs   []*Subscription
	leftAt time.Time // when the last subscriber left
	// State left by an earlier process: the last event published, and the messages with
	// unpublished outcomes.
	publishedUpTo hostPosition
	unpublished   map[core.MessageID]struct{}
	earlier       int    // maximum number of updates of an earlier process, not yet read
	earlierLast   uint64 // number of the newest of the earlier updates
}

// A hostPosition is the number of a host's last event published on a stream. A host replays
// unacknowledged events to a new process.
type hostPosition struct {
	Host HostID
	Seq  uint64
}

// A HostID identifies a session host's process; a pid alone can be reused.
type HostID struct {
	PID   int
	Start uint64
}

func newStream() *stream {
	for {
		if id := rand.Uint64(); id != 0 { //nolint:gosec // it tells streams apart and is no secret
			return &stream{id: id}
		}
	}
}

// publish numbers the update, keeps the update, and wakes the subscribers. publish returns
// by how many bytes the kept updates have grown.
func (f *stream) publish(u core.Update, use uint64) (grown int) {
	if u.Message != nil { // the content may be large, and can be found by the message's id
		m := *u.Message
		m.Content, m.Prompt = core.Content{}, m.Prompt.Short()
		u.Message = &m
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	f.used = use
	u.ID = core.UpdateID{Stream: f.id, Number: f.last}
	before := f.kept.weight()
	f.kept.push(u)
	for _, s := range f.subs {
		s.add(u)
	}
	return f.kept.weight() - before
}

// beforeLocked returns the number of the newest update no longer kept.
func (f *stream) beforeLocked() uint64 { return f.last - uint64(f.kept.n) }

func (f *stream) all() []core.Update {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept.last(f.kept.n)
}

// earlierFollowsLocked reports whether the kept updates directly follow the earlier updates
// not yet read.
func (f *stream) earlierFollowsLocked() bool {
	return f.earlier > 0 && f.beforeLocked() == f.earlierLast
}

// needsEarlier reports whether the earlier updates not yet read include one newer than after.
func (f *stream) needsEarlier(after core.UpdateID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.earlierFollowsLocked() && (after.Stream != f.id || after.Number < f.earlierLast)
}

// fill adds the updates left by an earlier process, unless too many updates have arrived since.
// fill returns by how many bytes the kept updates have grown.
func (f *stream) fill(updates []core.Update) (grown int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	follows := f.earlierFollowsLocked()
	updates = updates[max(0, len(updates)-f.earlier):]
	if f.earlier = 0; !follows {
		return 0
	}
	var r ring
	for i, u := range updates {
		u.ID = core.UpdateID{Stream: f.id, Number: f.earlierLast - uint64(len(updates)-1-i)}
		r.push(u)
	}
	for _, u := range f.kept.last(f.kept.n) {
		r.push(u)
	}
	grown = r.weight() - f.kept.weight()
	f.kept = r
	return grown
}

// usage returns the number of the stream's latest use and the memory of the kept updates.
func (f *stream) usage() (used uint64, kept int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used, f.kept.weight()
}

// shrink drops the oldest updates until at least n bytes are free or no update is kept, and
// returns the freed bytes.
func (f *stream) shrink(n int) (freed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.kept.weight()
	f.kept.shrink(before - n)
	return before - f.kept.weight()
}

// attach adds a subscriber that receives every update following after. No update is lost or
// repeated between the kept updates and updates to come. If the updates following after are
// unknown, the subscriber receives all kept updates.
func (f *stream) attach(s *Subscription, after *core.UpdateID, use uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used = use
	s.from = core.UpdateID{Stream: f.id, Number: f.last}
	if after != nil {
		s.from = *after
	}
	if s.from.Stream != f.id || s.from.Number < f.beforeLocked() || s.from.Number > f.last {
		s.gap, s.from = true, core.UpdateID{Stream: f.id, Number: f.beforeLocked()}
	}
	s.queue = f.kept.last(int(f.last - s.from.Number))
	if len(s.queue) > 0 {
		s.c.Send()
	}
	f.subs = append(f.subs, s)
}

// detach removes a subscriber and reports whether no subscriber is left.
func (f *stream) detach(s *Subscription) (last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.subs, s)
	if i < 0 {
		return false
	}
	f.subs = slices.Delete(f.subs, i, i+1)
	f.leftAt = time.Now()
	return len(f.subs) == 0
}

// expired reports whether the stream has had no subscriber for keepFor.
func (f *stream) expired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs) == 0 && time.Since(f.leftAt) >= keepFor
}

const (
	// slotBytes is the memory of an update without the texts that the update refers to.
	slotBytes = int(unsafe.Sizeof(core.Update{}))
	// textOverhead is what an allocator rounds up, by update.
	textOverhead = 32
	// firstSlots is the number of slots that a ring begins with.
	firstSlots = 16
)

// A ring holds the newest updates, oldest first, in reused memory.
type ring struct {
	slots []core.Update
	head  int // index of the oldest update
	n     int
	bytes int // sum of the updates' sizes
}

func (r *ring) push(u core.Update) {
	if r.n == maxUpdates {
		r.drop()
	}
	if r.n == len(r.slots) {
		r.resize(min(max(firstSlots, 2*r.n), maxUpdates))
	}
	r.slots[(r.head+r.n)%len(r.slots)] = u
	r.n++
	for r.bytes += updateSize(&u); r.bytes > maxStreamBytes; {
		r.drop()
	}
}

// weight returns the approximate memory taken by the ring.
func (r *ring) weight() int { return r.bytes + len(r.slots)*slotBytes }

// shrink drops the oldest updates until the ring takes at most most bytes.
func (r *ring) shrink(most int) {
	for r.n > 0 && r.bytes+r.n*slotBytes > most {
		r.drop()
	}
	if r.weight() > most {
		r.resize(r.n)
	}
}

func (r *ring) drop() {
	r.bytes -= updateSize(&r.slots[r.head])
	r.slots[r.head] = core.Update{}
	r.head = (r.head + 1) % len(r.slots)
	r.n--
}

// resize moves the updates to new slots, at least as many as there are updates.
func (r *ring) resize(slots int) {
	all := make([]core.Update, slots)
	copy(all, r.last(r.n))
	r.slots, r.head = all, 0
}

func (r *ring) last(n int) []core.Update {
	all := make([]core.Update, n)
	for i := range all {
		all[i] = r.slots[(r.head+r.n-n+i)%len(r.slots)]
	}
	return all
}

// updateSize returns the approximate memory that an update refers to, in bytes.
func updateSize(u *core.Update) int {
	n := len(u.Raw) + len(u.Detail) + textOverhead
	if u.Message != nil {
		n += int(unsafe.Sizeof(*u.Message)) + len(u.Message.Reply.Text) + len(u.Message.Reply.Error) + len(u.Message.Prompt.Text)
	}
	if u.Approval != nil {
		n += int(unsafe.Sizeof(*u.Approval)) + len(u.Approval.Input) + len(u.Approval.Suggestion) + len(u.Approval.Prompt.Text)
	}
	if u.Background != nil {
		n += len(u.Background.Text)
	}
	if u.Tool != nil {
		n += int(unsafe.Sizeof(*u.Tool)) + len(u.Tool.Tool) + len(u.Tool.Source) + len(u.Tool.Mount)
	}
	return n
}
