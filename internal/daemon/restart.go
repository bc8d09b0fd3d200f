package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/heartbeat/supervisor"
)

// restarts has another worker take over, of this program or of another one.
type restarts struct {
	upgrades *upgrades
	life     context.Context // ends when this process leaves
	prepared chan struct{}   // receives when another worker could take over; capacity 1

	mu      sync.Mutex // protects the fields below
	attempt *attempt   // a restart under way
	ending  bool       // no restart any more
	problem string     // why the last restart failed
}

// An attempt is a restart that is being prepared. Whoever asks meanwhile shares the
// attempt.
type attempt struct {
	done    chan struct{}       // closed when err is known
	err     error               // why no other worker can take over
	upgrade *api.UpgradeRequest // nil for a restart
}

// errOnTrial refuses a restart of a program that may have to go.
var errOnTrial = errors.New("a new program is on trial; try again when that is over, in half a minute")

// request has the supervisor start another worker and returns when that could take
// over, which follows, or why it cannot.
func (r *restarts) request(ctx context.Context) error {
	if r.upgrades.onTrial.Load() {
		r.upgrades.log.Error("not restarted", "err", errOnTrial)
		return errOnTrial
	}
	r.mu.Lock()
	a := r.attempt
	if a == nil {
		a = r.attemptLocked(nil)
	}
	r.mu.Unlock()
	return a.wait(ctx)
}

// requestUpgrade is request with another program, which is on trial then.
func (r *restarts) requestUpgrade(ctx context.Context, o api.UpgradeRequest) error {
	if source := r.upgrades.restartSource(); source != "" {
		return fmt.Errorf("this gateway is built from %s whenever it restarts: change that and restart it, or set BARECLAW_SOURCE=off", source)
	}
	if r.upgrades.onTrial.Load() {
		return fmt.Errorf("%w: %w", httpapi.ErrUpgrading, errOnTrial)
	}
	r.mu.Lock()
	if r.attempt != nil {
		r.mu.Unlock()
		return fmt.Errorf("%w: a restart is under way", httpapi.ErrUpgrading)
	}
	a := r.attemptLocked(&o)
	r.mu.Unlock()
	return a.wait(ctx)
}

func (r *restarts) attemptLocked(o *api.UpgradeRequest) *attempt {
	a := &attempt{done: make(chan struct{}), upgrade: o}
	r.attempt = a
	go r.try(a) // ends within the time that building and starting may take
	return a
}

func (a *attempt) wait(ctx context.Context) error {
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *restarts) try(a *attempt) {
	err := r.startSuccessor(a.upgrade)
	if err == nil && r.isEnding() {
		err = core.ErrClosed
	}
	r.mu.Lock()
	a.err = err
	if err != nil {
		r.attempt = nil // the next one tries again
		r.problem = "The last restart failed: " + err.Error()
	}
	r.mu.Unlock()
	close(a.done)
	if err != nil {
		r.upgrades.log.Error("not restarted", "err", err)
		r.upgrades.tellUpgrade(r.life)
		return
	}
	r.prepared <- struct{}{} // capacity 1, and there is one attempt at a time
}

// startSuccessor returns when another worker could take over, of the program of the
// upgrade, or of the source, or else of this program. After an error everything is as
// before.
func (r *restarts) startSuccessor(upgrade *api.UpgradeRequest) error {
	if r.isEnding() {
		return core.ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	if err := r.upgrades.ledger().Probe(ctx); err != nil { // the new process could not begin
		return err
	}
	c := candidate{path: r.upgrades.self}
	err := runnable(r.upgrades.self)
	if source := r.upgrades.restartSource(); upgrade != nil {
		c, err = r.upgrades.placeUpgrade(ctx, *upgrade)
	} else if source != "" {
		c, err = r.upgrades.placeBuild(ctx, source)
	}
	if err != nil {
		return err
	}
	err = r.upgrades.parent.Restart(supervisor.Successor{Path: c.path, Trial: c.trial != nil, Place: c.hold})
	if err != nil {
		r.upgrades.revert(c, err)
	}
	c.release()
	return err
}

// stop keeps restarts from beginning.
func (r *restarts) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
}

func (r *restarts) isEnding() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ending
}

// lastProblem returns why the last restart failed, empty if it did not.
func (r *restarts) lastProblem() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problem
}
