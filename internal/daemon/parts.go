package daemon

import (
	"context"
	"errors"
	"slices"
)

// A stopReason says how the daemon ends, and so what its parts leave behind.
type stopReason int

const (
	handingOver    stopReason = iota // another process takes over now
	leaving                          // session hosts stay for the next daemon
	endingSessions                   // session hosts end too
)

// A part is a component of the daemon with its own state. The daemon starts its parts in
// order and stops them in reverse.
type part interface {
	// Start begins the part's work.
	Start() error
	// Stop ends the part's work and returns when nothing of the work is under way any
	// more. Stop is also called for a part that did not start, and may be called again.
	Stop(why stopReason) error
	// Health reports how the part is.
	Health() partHealth
}

// A partHealth is a part's share of the gateway's health.
type partHealth struct {
	Name    string
	Ready   bool
	Problem string // a sentence; empty when there is none
	Facts   any    // what else GET /health shows of the part; nil for nothing
}

// A partList is the daemon as its parts.
type partList []part

// start starts the parts up to the first that fails.
func (l partList) start() error {
	for _, p := range l {
		if err := p.Start(); err != nil {
			return err
		}
	}
	return nil
}

func (l partList) stop(why stopReason) error {
	var errs []error
	for _, p := range slices.Backward(l) {
		errs = append(errs, p.Stop(why))
	}
	return errors.Join(errs...)
}

func (l partList) health() []partHealth {
	all := make([]partHealth, len(l))
	for i, p := range l {
		all[i] = p.Health()
	}
	return all
}

// A step is a part that has nothing to stop and no health of its own.
type step func() error

// Start calls the function, and returns when that has.
func (s step) Start() error { return s() }

// Stop does nothing.
func (step) Stop(stopReason) error { return nil }

// Health returns the zero value.
func (step) Health() (h partHealth) { return h }

// A loop is a part that runs one function in the background until the part is stopped.
type loop struct {
	run    func(context.Context)
	cancel context.CancelFunc // nil before Start
	ended  chan struct{}      // closed when run has returned
}

// Start begins to run the function.
func (l *loop) Start() error {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.ended = cancel, make(chan struct{})
	go func() { // ends by Stop
		defer close(l.ended)
		l.run(ctx)
	}()
	return nil
}

// Stop ends the function and waits for its return.
func (l *loop) Stop(stopReason) error {
	if l.cancel != nil {
		l.cancel()
		<-l.ended
	}
	return nil
}

// Health reports nothing.
func (*loop) Health() (h partHealth) { return h }
