package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"

	"bareclaw/adapters/httpapi/api"
)

// A stopReason says how the daemon ends, and so what its parts leave behind.
type stopReason int

const (
	handingOver    stopReason = iota // another process takes over now
	leaving                          // session hosts stay for the next daemon
	endingSessions                   // session hosts end too
)

// A part is a component of the daemon with its own state. The daemon starts its parts in
// order and stops them in reverse. Functions that are nil do nothing.
type part struct {
	// start begins the part's work.
	start func() error
	// stop ends the part's work and returns when nothing of the work is under way any more.
	// It is also called for a part that did not start, and may be called again.
	stop func(why stopReason) error
	// health adds to the gateway's health how the part is.
	health func(*api.Health)
}

// A partList is the daemon as its parts.
type partList []part

func (l partList) start() error {
	for _, p := range l {
		if p.start == nil {
			continue
		}
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}

func (l partList) stop(why stopReason) error {
	var errs []error
	for _, p := range slices.Backward(l) {
		if p.stop != nil {
			errs = append(errs, p.stop(why))
		}
	}
	return errors.Join(errs...)
}

func (l partList) health(h *api.Health) {
	for _, p := range l {
		if p.health != nil {
			p.health(h)
		}
	}
}

// loop returns a part that runs a function in the background until the part is stopped.
func loop(run func(context.Context)) part {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	return part{
		start: func() error {
			running.Go(func() { run(ctx) }) // ends by stop
			return nil
		},
		stop: func(stopReason) error {
			cancel()
			running.Wait()
			return nil
		},
	}
}
