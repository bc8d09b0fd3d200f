package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/core/commands"
)

// A stopReason says how the daemon ends, and so what its parts leave behind.
type stopReason int

const (
	handingOver    stopReason = iota // another process takes over now
	leaving                          // session hosts stay for the next daemon
	endingSessions                   // session hosts end too
)

// A part is a component of the daemon with its own state. Functions that are nil do nothing.
type part struct {
	name string
	// stop ends the part's work, and returns when nothing of the work is under way any more.
	stop func(why stopReason) error
	// health adds the part's problems and facts to the gateway's health.
	health func(*api.Health)
	// metrics collect what the part counts, and must not block.
	metrics []prometheus.Collector
	// mounts are what the part serves over HTTP.
	mounts []httpapi.Mount
	// commands are what people can ask of the part in every chat, and never change.
	commands []commands.Command
}

// A partList is the daemon as its parts, in the order in which they began their work. They stop in
// reverse, after the daemon's life has ended.
type partList []part

func (l partList) stop(why stopReason) error {
	var errs []error
	for _, p := range slices.Backward(l) {
		if p.stop == nil {
			continue
		}
		if err := p.stop(why); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.name, err))
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

func (l partList) metrics() (all []prometheus.Collector) {
	for _, p := range l {
		all = append(all, p.metrics...)
	}
	return all
}

func (l partList) mounts() (all []httpapi.Mount) {
	for _, p := range l {
		all = append(all, p.mounts...)
	}
	return all
}

func (l partList) commands() (all []commands.Command) {
	for _, p := range l {
		all = append(all, p.commands...)
	}
	return all
}

// loop begins a loop, which runs until life ends, and returns it as a part.
func loop(life context.Context, name string, run func(context.Context)) part {
	var running sync.WaitGroup
	running.Go(func() { run(life) })
	return part{
		name: name,
		stop: func(stopReason) error {
			running.Wait()
			return nil
		},
	}
}

// httpGrace is how long held requests may take to be answered at the end.
const httpGrace = 1500 * time.Millisecond

// An httpPart serves the API on the daemon's listeners.
type httpPart struct {
	*base
	failed chan error // of serving; capacity 3
	server *httpapi.Server
}

func (h *httpPart) start(o httpapi.Options, s *sockets) {
	h.server = httpapi.New(o)
	go func() { h.failed <- h.server.Serve(s.tcp) }()       // ends by stop
	go func() { h.failed <- h.server.ServeLocal(s.unix) }() // likewise
	if s.tools != nil {
		go func() { h.failed <- h.server.ServeTools(s.tools) }() // likewise
	}
}

func (h *httpPart) part() part { return part{name: "http", stop: h.stop} }

func (h *httpPart) stop(why stopReason) error {
	if why == handingOver {
		h.server.HandOver()
	} else {
		h.drain(httpapi.ShuttingDown)
	}
	return nil
}

func (h *httpPart) drain(why httpapi.Reason) {
	ctx, cancel := context.WithTimeout(context.Background(), httpGrace)
	defer cancel()
	if err := h.server.Shutdown(ctx, why); err != nil {
		h.log.Warn("requests cut", "err", err)
	}
}
