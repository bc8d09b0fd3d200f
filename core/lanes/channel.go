package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

// maxPanics bounds the panics in a row before the process ends: the lane cannot even fail
// the messages then, and the next process continues from the ledger.
const maxPanics = 5

// errInternal is returned for a request during which the lane panicked.
var errInternal = errors.New("a fault in the gateway ended the request; the log has the details")

// errRetired is returned for a request to a lane ended for lack of work.
var errRetired = errors.New("lane has retired")

const internalText = "A fault in the gateway ended this message. The gateway goes on and the conversation is kept; the log has the details."

// A channel is what the components of a lane share: the goroutine serving the channel, the
// journal, the state, and the updates for subscribers.
//
// Other goroutines pass functions to the lane's goroutine, which runs the functions one after
// another. Updates from replayed events already published by an earlier process are not
// published again.
type channel struct {
	manager *Manager
	key     core.ChannelKey
	log     *slog.Logger
	journal journal

	operation laneOperation
	mailbox   *mailbox
	done      chan struct{} // closed when the goroutine ends
	retries   []func()      // requests to run again after the next step
	panics    int           // panics in a row

	seq           uint64    // the event being handled; 0 between events
	receivedAt    time.Time // when the host first received the current event, if replayed; else zero
	publishedUpTo uint64    // last event of the session with updates published by an earlier process
}

func newChannel(m *Manager, key core.ChannelKey) *channel {
	c := &channel{manager: m, key: key, log: m.o.Log.With("channel", string(key)), mailbox: newMailbox(), done: make(chan struct{})}
	c.journal = newJournal(m.o.Ledger, c.post, c.log)
	return c
}

func (c *channel) now() time.Time { return c.manager.o.Now() }

// post queues f for the lane's goroutine, and reports false if the lane has retired.
func (c *channel) post(f func()) bool { return c.mailbox.post(f) }

func (c *channel) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { c.post(f) })
}

// retryLater runs f again after the lane's next step, for requests that must wait for an
// operation or a write under way.
func (c *channel) retryLater(f func()) { c.retries = append(c.retries, f) }

// retry runs the requests queued by retryLater, and then after each request.
func (c *channel) retry(then func()) {
	waiting := c.retries
	c.retries = nil
	for _, f := range waiting {
		f()
		then()
	}
}

// handling begins an event of the session; receivedAt is zero unless the event is replayed.
func (c *channel) handling(seq uint64, receivedAt time.Time) { c.seq, c.receivedAt = seq, receivedAt }

func (c *channel) handled() { c.handling(0, time.Time{}) }

// eventTime returns when the event being handled happened: for a replayed event, the time
// when the host first received the event.
func (c *channel) eventTime() time.Time {
	if !c.receivedAt.IsZero() {
		return c.receivedAt
	}
	return c.now()
}

// listening reports whether an update has a reader now or may have a reader soon.
func (c *channel) listening() bool { return c.manager.Feeds.HasListeners(c.key) }

func (c *channel) publish(u core.Update) {
	if c.listening() && !c.isPublished(&u) {
		u.At = c.now()
		c.manager.Feeds.Publish(c.key, u)
	}
}

// isPublished reports whether the update comes from a replayed event already published by an
// earlier process. A result needs a separate check, because the earlier process publishes a
// result only when durable, perhaps after handling the event.
func (c *channel) isPublished(u *core.Update) bool {
	if c.seq == 0 || c.seq > c.publishedUpTo {
		return false
	}
	return u.Kind != core.UpdateResult || !c.manager.Feeds.IsUnpublished(c.key, u.Message.ID)
}

// publishOutcomes closes the tickets of messages with an outcome, and publishes the outcomes.
func (c *channel) publishOutcomes(items []*queued) {
	outcomes, updates := make([]*core.Message, 0, len(items)), make([]core.Update, 0, len(items))
	for _, it := range items {
		msg := *it.msg
		outcomes = append(outcomes, &msg)
		u := core.Update{At: c.now(), Kind: core.UpdateResult, Turn: msg.Turn, Message: &msg}
		if !c.isPublished(&u) {
			updates = append(updates, u)
		}
	}
	c.manager.Feeds.PublishAtomically(func() { c.manager.tickets.resolve(outcomes) }, c.key, updates)
}

// async runs work on a new goroutine, and the function returned by work on the lane's
// goroutine. The new goroutine ends with work.
func (c *channel) async(work func(ctx context.Context) func()) {
	c.manager.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil { // raise the panic on the lane's goroutine
				c.logPanic(p)
				c.post(func() { panic(p) })
			}
		}()
		if then := work(c.manager.ctx); then != nil && c.manager.ctx.Err() == nil {
			c.post(then)
		}
	})
}

// request runs do on the lane's goroutine, and waits until do, or a later step, passes a result
// to done. request returns errRetired if the lane has retired, and errInternal if do panics.
func request[T any](ctx context.Context, c *channel, do func(done func(T, error))) (v T, err error) {
	type result struct {
		v   T
		err error
	}
	results := make(chan result, 2) // a panic may follow a result
	posted := c.post(func() {
		returned := false
		defer func() {
			if !returned {
				results <- result{err: errInternal}
			}
		}()
		do(func(v T, err error) { results <- result{v, err} })
		returned = true
	})
	if !posted {
		return v, errRetired
	}
	r, err := await(ctx, c, results)
	return r.v, cmp.Or(err, r.err)
}

// ask returns the result of f, called on the lane's goroutine; see request for errors.
func ask[T any](ctx context.Context, c *channel, f func() T) (T, error) {
	return request(ctx, c, func(done func(T, error)) { done(f(), nil) })
}

// perform is request for an action without a result.
func perform(ctx context.Context, c *channel, do func(done func(error))) error {
	_, err := request(ctx, c, func(done func(struct{}, error)) { do(func(err error) { done(struct{}{}, err) }) })
	return err
}

// await returns a value from the lane, even if ctx or the lane has ended meanwhile. Without a
// value, await returns the cause of ctx's end, errRetired, or ErrClosed during a shutdown.
func await[T any](ctx context.Context, c *channel, values <-chan T) (v T, err error) {
	select {
	case v = <-values:
		return v, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.done:
		err = errRetired
		if c.manager.ctx.Err() != nil {
			err = core.ErrClosed
		}
	}
	select {
	case v = <-values:
		return v, nil
	default:
		return v, err
	}
}

// guard runs a step of the lane. After a panic, guard logs the panic and calls abandon,
// instead of ending the process.
func (c *channel) guard(step, abandon func()) {
	c.try(func() { step(); c.panics = 0 }, abandon)
}

// try is guard without resetting the panic count after a success.
func (c *channel) try(step, abandon func()) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		c.logPanic(p)
		if c.panics++; c.panics > maxPanics {
			panic(p)
		}
		c.try(abandon, abandon)
	}()
	step()
}

func (c *channel) logPanic(p any) {
	c.log.Error("panic in a lane", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}

// A mailbox passes functions to the goroutine owning a lane. The mailbox needs no bound:
// functions come from admitted messages, bounded by the queue limit, from the lane's own
// timers, and from callers waiting for an answer.
type mailbox struct {
	wake wait.Signal

	mu     sync.Mutex
	queue  []func()
	closed bool

	batch []func() // being run; owned by the lane's goroutine
}

func newMailbox() *mailbox { return &mailbox{wake: wait.NewSignal()} }

// post queues f, or reports false if the mailbox is closed.
func (m *mailbox) post(f func()) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.queue = append(m.queue, f)
	m.mu.Unlock()
	m.wake.Send()
	return true
}

// close closes the mailbox to new functions. If functions are queued, close does nothing and
// reports false.
func (m *mailbox) close() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue)+len(m.batch) > 0 {
		return false
	}
	m.closed = true
	return true
}

// drain runs the queued functions, and then after each function. After a panic the remaining
// functions run with the next drain.
func (m *mailbox) drain(then func()) {
	m.mu.Lock()
	m.batch = append(m.batch, m.queue...)
	clear(m.queue)
	m.queue = m.queue[:0]
	m.mu.Unlock()
	defer func() {
		if len(m.batch) > 0 {
			m.wake.Send()
		}
	}()
	for len(m.batch) > 0 {
		f := m.batch[0]
		m.batch = slices.Delete(m.batch, 0, 1)
		f()
		then()
	}
}
