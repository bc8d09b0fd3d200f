package throttle

import (
	"context"
	"slices"
	"sync"
	"time"

	"bareclaw/internal/wait"
)

// A Limiter lets sends begin. Its methods are safe for concurrent use.
type Limiter struct {
	pause  func(error) time.Duration
	limits limits

	mu       sync.Mutex // guards the fields below; never held while a send runs
	chats    map[int64]*chat
	crowd    int                      // number of chats at which idle chats are removed
	waiting  [Progress + 1][]*request // the longest waiting first
	global   bucket
	inFlight [classes]int
	timer    *time.Timer
}

// A chat holds the limits of one chat. The id of a group is negative.
type chat struct {
	id           int64
	sent, hinted bucket
	held         time.Time    // end of a pause requested by Telegram
	waiting      [classes]int // number of sends
	inFlight     [classes]int
}

type request struct {
	chat    *chat
	class   Class
	started chan struct{} // closed when the send may begin
}

// New returns a limiter. The function pause returns the pause of the chat requested by the
// error of a send, counted from the return of the send; 0: none.
func New(pause func(error) time.Duration) *Limiter {
	l := &Limiter{pause: pause, limits: telegramLimits, chats: map[int64]*chat{}}
	l.timer = time.AfterFunc(time.Hour, l.wake)
	l.timer.Stop()
	return l
}

// Do calls send when the limits allow, and returns the error of send. If ctx ends before,
// Do returns the cause of ctx; a send that has begun is not interrupted. A Hint without
// room is ErrDropped.
func (l *Limiter) Do(ctx context.Context, id int64, class Class, send func() error) (err error) {
	r, err := l.begin(ctx, id, class)
	if err != nil {
		return err
	}
	defer func() { l.finish(r, err) }()
	return send()
}

// Hold keeps a chat from sending before a moment: Telegram requested the pause from an
// earlier process.
func (l *Limiter) Hold(id int64, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holdLocked(l.chatLocked(id), until)
}

func (l *Limiter) holdLocked(c *chat, until time.Time) {
	c.held = wait.Latest(c.held, until)
	c.sent.drain(l.limitOf(c), until)
}

func (l *Limiter) limitOf(c *chat) limit {
	if c.id < 0 {
		return l.limits.group
	}
	return l.limits.private
}

// chatLocked returns a chat, and removes idle chats now and then.
func (l *Limiter) chatLocked(id int64) *chat {
	c := l.chats[id]
	if c != nil {
		return c
	}
	if len(l.chats) >= l.crowd {
		now := time.Now()
		for id, c := range l.chats {
			if c.waiting == [classes]int{} && c.inFlight == [classes]int{} && !wait.Latest(c.held, c.sent.full, c.hinted.full).After(now) {
				delete(l.chats, id)
			}
		}
		l.crowd = 2*len(l.chats) + 100
	}
	c = &chat{id: id}
	l.chats[id] = c
	return c
}

func (l *Limiter) begin(ctx context.Context, id int64, class Class) (*request, error) {
	r := &request{class: class, started: make(chan struct{})}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !l.enqueue(r, id) {
		return nil, ErrDropped
	}
	select {
	case <-r.started:
		return r, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := -1
	if class != Hint {
		i = slices.Index(l.waiting[class], r)
	}
	if i < 0 { // started meanwhile
		return r, nil
	}
	l.waiting[class] = slices.Delete(l.waiting[class], i, i+1)
	r.chat.waiting[class]--
	l.dispatchLocked()
	return nil, context.Cause(ctx)
}

// enqueue adds a request to the waiting requests, and starts requests. enqueue returns
// false for a Hint that cannot start at once.
func (l *Limiter) enqueue(r *request, id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.chat = l.chatLocked(id)
	if r.class == Hint {
		now := time.Now()
		at, ok := l.opensLocked(r)
		if ok = ok && !at.After(now); ok {
			l.startLocked(r, now)
		}
		return ok
	}
	l.waiting[r.class] = append(l.waiting[r.class], r)
	r.chat.waiting[r.class]++
	l.dispatchLocked()
	return true
}

// opensLocked returns the earliest moment at which the rates allow a request to start. It
// returns false if the request must wait for the end of another request.
func (l *Limiter) opensLocked(r *request) (at time.Time, ok bool) {
	c, spare, light := r.chat, 0, l.inFlight[Progress]+l.inFlight[Hint]
	if r.class != Durable {
		spare = 1
		if light >= max(1, l.limits.inFlight/2) {
			return at, false
		}
	}
	full := light+l.inFlight[Durable] >= l.limits.inFlight
	at = wait.Latest(c.held, l.global.at(l.limits.global, spare))
	switch r.class {
	case Durable:
		full = full || c.inFlight[Durable] > 0
	case Progress:
		full = full || c.inFlight[Progress]+c.inFlight[Durable]+c.waiting[Durable] > 0
	case Hint:
		full = full || c.inFlight[Hint] >= l.limits.hint.burst
		return wait.Latest(at, c.hinted.at(l.limits.hint, 0)), !full
	}
	return wait.Latest(at, c.sent.at(l.limitOf(c), spare)), !full
}

func (l *Limiter) dispatchLocked() {
	now := time.Now()
	var next time.Time
	for class := range l.waiting {
		l.waiting[class] = slices.DeleteFunc(l.waiting[class], func(r *request) bool {
			at, ok := l.opensLocked(r)
			switch {
			case !ok:
			case !at.After(now):
				r.chat.waiting[class]--
				l.startLocked(r, now)
				return true
			case next.IsZero() || at.Before(next):
				next = at
			}
			return false
		})
	}
	if next.IsZero() {
		l.timer.Stop()
	} else {
		l.timer.Reset(next.Sub(now))
	}
}

func (l *Limiter) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dispatchLocked()
}

func (l *Limiter) startLocked(r *request, now time.Time) {
	c := r.chat
	c.inFlight[r.class]++
	l.inFlight[r.class]++
	l.global.take(l.limits.global, now)
	if r.class == Hint {
		c.hinted.take(l.limits.hint, now)
	} else {
		c.sent.take(l.limitOf(c), now)
	}
	close(r.started)
}

func (l *Limiter) finish(r *request, err error) {
	pause := l.pause(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	r.chat.inFlight[r.class]--
	l.inFlight[r.class]--
	if pause > 0 {
		l.holdLocked(r.chat, time.Now().Add(pause))
	}
	l.dispatchLocked()
}
