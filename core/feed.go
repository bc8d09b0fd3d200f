package core

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// keptUpdates and keptBytes bound what a feed keeps for those who come back.
	// An agent says some hundred things a second at most, and a restart takes less
	// than one, as does a client that connects again.
	keptUpdates = 2048
	keptBytes   = 1 << 20
	// keptFor is how long a feed goes on when nobody is left who listens.
	keptFor = 2 * time.Minute
)

// A feed is what happens on one channel: it tells its subscribers and keeps the
// newest updates for those who come back. It exists while somebody listens, and
// for a while after that, so that a channel that nobody watches costs nothing.
type feed struct {
	id uint64

	mu     sync.Mutex // guards the fields below
	last   uint64     // number of the newest update, 0 before the first
	kept   ring       // the newest ones, without a hole up to last
	subs   []*Subscription
	leftAt time.Time // when the last subscriber left
	// What an earlier process left: the events that it had published, and the
	// messages whose outcome it had not.
	floor floor
	owed  map[MessageID]struct{}
}

// A floor says up to which event of a session host a feed has everything. A host
// says again to a new process what was not acknowledged.
type floor struct {
	Host hostID
	Seq  uint64
}

// A hostID names a session host's process: the pid alone is used again.
type hostID struct {
	PID   int
	Start uint64
}

// newFeed returns a feed with an id that no other feed has or had.
func newFeed() *feed {
	for {
		if id := rand.Uint64(); id != 0 {
			return &feed{id: id}
		}
	}
}

// publish numbers the update, keeps it, and tells the subscribers.
func (f *feed) publish(u Update) {
	if u.Message != nil { // its content may be large, and is found by its id
		m := *u.Message
		m.Content = Content{}
		u.Message = &m
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	u.ID = UpdateID{f.id, f.last}
	f.kept.push(u)
	for _, s := range f.subs {
		s.add(u)
	}
}

// beforeLocked is the number of the newest update that is not kept any more.
func (f *feed) beforeLocked() uint64 { return f.last - uint64(f.kept.n) }

// enter adds a subscriber to whom everything is new that follows the update
// named. Nothing is lost or told twice between what is kept and what is to come.
// Where it is not known what follows, all that is kept is new.
func (f *feed) enter(s *Subscription, after UpdateID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after.feed != f.id || after.n < f.beforeLocked() || after.n > f.last {
		s.gap, after = true, UpdateID{f.id, f.beforeLocked()}
	}
	s.from = after
	s.queue = f.kept.last(int(f.last - after.n))
	if len(s.queue) > 0 {
		s.wake()
	}
	f.subs = append(f.subs, s)
}

// newest returns the id of the newest update, or of what is before the first.
func (f *feed) newest() UpdateID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return UpdateID{f.id, f.last}
}

// leave removes a subscriber and reports whether none is left.
func (f *feed) leave(s *Subscription) (last bool) {
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
func (f *feed) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs) == 0 && time.Since(f.leftAt) >= keptFor
}

// size is about how much memory the update holds on to, in bytes.
func (u *Update) size() int {
	n := len(u.Raw) + len(u.Detail)
	if u.Message != nil {
		n += len(u.Message.Reply.Text) + len(u.Message.Reply.Error)
	}
	if u.Approval != nil {
		n += len(u.Approval.Input) + len(u.Approval.Suggestion)
	}
	if u.Background != nil {
		n += len(u.Background.Text)
	}
	return n
}
