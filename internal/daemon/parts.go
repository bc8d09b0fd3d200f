package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
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
	// health reports how the part is.
	health func() partHealth
}

// A partHealth is a part's share of the gateway's health.
type partHealth struct {
	name    string
	problem string // a sentence; empty when there is none
	facts   any    // what else GET /health shows of the part; nil for nothing
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

func (l partList) health() (all []partHealth) {
	for _, p := range l {
		if p.health != nil {
			all = append(all, p.health())
		}
	}
	return all
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
