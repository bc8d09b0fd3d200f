package feed

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"bareclaw/core"
)

const (
	// keptUpdates and keptBytes bound what a feed keeps for those who come back.
	// An agent says some hundred things a second at most, and a restart takes less
	// than one, as does a client that connects again.
	maxUpdates     = 2048
	maxStreamBytes = 1 << 20
	// maxTotalBytes bounds what all feeds keep together; updateOverhead is about what an
	// update takes besides its size.
	maxTotalBytes  = 32 << 20
	updateOverhead = 256
	// keepFor is how long a feed goes on when nobody is left who listens.
	keepFor = 2 * time.Minute
)

// A feed is what happens on one channel: it tells its subscribers and keeps the
// newest updates for those who come back. It exists while somebody listens, and
// for a while after that, so that a channel that nobody watches costs nothing.
type stream struct {
	id uint64

	mu     sync.Mutex // guards the fields below
	last   uint64     // number of the newest update, 0 before the first
	kept   ring       // the newest ones, without a hole up to last
	subs   []*Subscription
	leftAt time.Time // when the last subscriber left
	// What an earlier process left: the events that it had published, and the
	// messages whose outcome it had not.
	publishedUpTo hostPosition
	unpublished   map[core.MessageID]struct{}

	loading sync.Mutex // held while earlier updates are read; before mu
	earlier *earlier   // updates that were not read yet, nil if there are none; guarded by mu
}

// A floor says up to which event of a session host a feed has everything. A host
// says again to a new process what was not acknowledged.
type hostPosition struct {
	Host HostID
	Seq  uint64
}

// A HostID names a session host's process: the pid alone is used again.
type HostID struct {
	PID   int
	Start uint64
}

// newStream returns a stream with an id that no other stream has or had.
func newStream() *stream {
	for {
		if id := rand.Uint64(); id != 0 {
			return &stream{id: id}
		}
	}
}

// publish numbers the update, keeps it, and tells the subscribers.
func (f *stream) publish(u core.Update) {
	if u.Message != nil { // its content may be large, and is found by its id
		m := *u.Message
		m.Content, m.Prompt = core.Content{}, m.Prompt.Short()
		u.Message = &m
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	u.ID = core.UpdateID{Stream: f.id, Number: f.last}
	f.kept.push(u)
	for _, s := range f.subs {
		s.add(u)
	}
}

// beforeLocked is the number of the newest update that is not kept any more.
func (f *stream) beforeLocked() uint64 { return f.last - uint64(f.kept.n) }

// all returns the updates that are kept.
func (f *stream) all() []core.Update {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept.last(f.kept.n)
}

// earlierFollowsLocked reports whether what is kept follows the updates that were not
// read yet.
func (f *stream) earlierFollowsLocked() bool {
	return f.earlier != nil && f.beforeLocked() == f.earlier.last
}

// load reads the updates that an earlier process has left, if one of those after the update
// named is among them. It blocks until that process has written them.
func (f *stream) load(after core.UpdateID) {
	f.loading.Lock()
	defer f.loading.Unlock()
	f.mu.Lock()
	e := f.earlier
	needed := f.earlierFollowsLocked() && (after.Stream != f.id || after.Number < e.last)
	f.mu.Unlock()
	if !needed {
		return
	}
	updates := e.read(f.id)
	f.mu.Lock()
	defer f.mu.Unlock()
	follows := f.earlierFollowsLocked()
	f.earlier = nil
	if !follows { // so much has happened meanwhile that they would not be kept
		return
	}
	var r ring
	for i, u := range updates {
		u.ID = core.UpdateID{Stream: f.id, Number: e.last - uint64(len(updates)-1-i)}
		r.push(u)
	}
	for _, u := range f.kept.last(f.kept.n) {
		r.push(u)
	}
	f.kept = r
}

// weight is about how much memory the feed holds on to.
func (f *stream) weight() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept.weight()
}

// shrink drops the oldest updates until the feed weighs at most so much.
func (f *stream) shrink(most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.kept.weight() > most {
		f.kept.drop()
	}
}

// enter adds a subscriber to whom everything is new that follows the update
// named. Nothing is lost or told twice between what is kept and what is to come.
// Where it is not known what follows, all that is kept is new.
func (f *stream) attach(s *Subscription, after core.UpdateID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after.Stream != f.id || after.Number < f.beforeLocked() || after.Number > f.last {
		s.gap, after = true, core.UpdateID{Stream: f.id, Number: f.beforeLocked()}
	}
	s.from = after
	s.queue = f.kept.last(int(f.last - after.Number))
	if len(s.queue) > 0 {
		s.wake()
	}
	f.subs = append(f.subs, s)
}

// newest returns the id of the newest update, or of what is before the first.
func (f *stream) newest() core.UpdateID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return core.UpdateID{Stream: f.id, Number: f.last}
}

// leave removes a subscriber and reports whether none is left.
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

// over reports whether nobody has listened for long enough.
func (f *stream) expired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs) == 0 && time.Since(f.leftAt) >= keepFor
}

// updateSize is about how much memory an update holds on to, in bytes.
func updateSize(u *core.Update) int {
	n := len(u.Raw) + len(u.Detail)
	if u.Message != nil {
		n += len(u.Message.Reply.Text) + len(u.Message.Reply.Error) + len(u.Message.Prompt.Text)
	}
	if u.Approval != nil {
		n += len(u.Approval.Input) + len(u.Approval.Suggestion) + len(u.Approval.Prompt.Text)
	}
	if u.Background != nil {
		n += len(u.Background.Text)
	}
	return n
}
