package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"bareclaw/core"
)

// maxPanics bounds the panics in a row before the process ends: the lane cannot even fail
// the messages then, and the next process continues from the ledger.
const maxPanics = 5

// errInternal is returned for a request during which the lane panicked.
var errInternal = errors.New("a fault in the gateway ended the request; the log has the details")

// errRetired is returned for a request to a lane ended for lack of work.
var errRetired = errors.New("lane has retired")

const internalText = "A fault in the gateway ended this message. The gateway goes on and the conversation is kept; the log has the details."

// A worker is the goroutine of a lane, and serves one channel. Other goroutines pass
// functions to the worker, and the worker runs the functions one after another.
type worker struct {
	manager *Manager
	key     core.ChannelKey
	log     *slog.Logger
	mailbox *mailbox
	done    chan struct{} // closed when the goroutine ends
	retries []func()      // requests to run again after the next step
	panics  int           // panics in a row
}

func newWorker(m *Manager, key core.ChannelKey) *worker {
	return &worker{manager: m, key: key, log: m.o.Log.With("channel", string(key)), mailbox: newMailbox(), done: make(chan struct{})}
}

func (w *worker) now() time.Time { return w.manager.o.Now() }

// post queues f for the lane's goroutine, and reports false if the lane has retired.
func (w *worker) post(f func()) bool { return w.mailbox.post(f) }

// after posts f when d has passed.
func (w *worker) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { w.post(f) })
}

// retryLater runs f again after the lane's next step, for requests arriving while the lane
// is busy with a deciding operation.
func (w *worker) retryLater(f func()) { w.retries = append(w.retries, f) }

// retry runs the requests queued by retryLater.
func (w *worker) retry() {
	waiting := w.retries
	w.retries = nil
	for _, f := range waiting {
		f()
	}
}

// async runs work on a new goroutine, and the function returned by work on the lane's
// goroutine. The new goroutine ends with work.
func (w *worker) async(work func(ctx context.Context) func()) {
	w.manager.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil { // raise the panic on the lane's goroutine
				w.logPanic(p)
				w.post(func() { panic(p) })
			}
		}()
		if then := work(w.manager.ctx); then != nil && w.manager.ctx.Err() == nil {
			w.post(then)
		}
	})
}

// call runs f on the lane's goroutine and waits for f to return. call returns errRetired if
// the lane has retired. After an error f may still be running, so the caller must not read
// variables written by f.
func (w *worker) call(ctx context.Context, f func()) error {
	done := make(chan error, 1)
	ran := func() {
		err := errInternal // unless f returns
		defer func() { done <- err }()
		f()
		err = nil
	}
	if !w.post(ran) {
		return errRetired
	}
	failed, err := await(ctx, w, done)
	return cmp.Or(err, failed)
}

// await returns the value received from the lane. A value sent just before the lane retired
// is still received, because both channels are often ready at once. Without a value await
// returns errRetired for a retired lane, and ErrClosed for a lane ended by shutdown.
func await[T any](ctx context.Context, w *worker, values <-chan T) (T, error) {
	var none T
	select {
	case v := <-values:
		return v, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-w.done:
	}
	select {
	case v := <-values:
		return v, nil
	default:
	}
	if w.manager.ctx.Err() != nil {
		return none, core.ErrClosed
	}
	return none, errRetired
}

// guard runs a step of the lane. After a panic, guard logs the panic and calls abandon,
// instead of ending the process.
func (w *worker) guard(step, abandon func()) {
	w.try(func() { step(); w.panics = 0 }, abandon)
}

// try is guard without resetting the panic count after a success.
func (w *worker) try(step, abandon func()) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		w.logPanic(p)
		if w.panics++; w.panics > maxPanics {
			panic(p)
		}
		w.try(abandon, abandon)
	}()
	step()
}

func (w *worker) logPanic(p any) {
	w.log.Error("panic in a lane", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}
