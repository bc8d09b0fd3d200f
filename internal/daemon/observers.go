package daemon

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
	"bareclaw/observe"
	"bareclaw/observe/discovery"
	"bareclaw/observe/rules"
	observetools "bareclaw/observe/tools"
)

// An observersPart knows the observers of web apps, which are processes of their own: it starts and ends them, and
// tells people of those that have died. All methods are safe for concurrent use.
type observersPart struct {
	*base
	records   discovery.Records
	port      int                           // of the gateway
	transport *http.Transport               // to their APIs
	latest    atomic.Pointer[api.Observers] // how they did some seconds ago

	// What follows belongs to the loop follow.
	running  []string             // the processes of latest
	readable bool                 // all records were
	asked    time.Time            // when latest was renewed
	tried    map[string]*tellings // by process, of the dead that people do not know of
}

// newObservers returns the part of a gateway that listens on a port.
func newObservers(b *base, port int) *observersPart {
	o := &observersPart{
		base:      b,
		port:      port,
		records:   discovery.RecordsOf(b.cfg.StateDir()),
		transport: &http.Transport{IdleConnTimeout: time.Second},
		tried:     map[string]*tellings{},
	}
	o.latest.Store(&api.Observers{})
	return o
}

// toolOptions returns what the tools about observed apps use.
func (o *observersPart) toolOptions() observetools.Options {
	return observetools.Options{
		Observers: o,
		Dir:       func(core.ChannelKey) string { return string(o.cfg.Files.CWD) }, // all sessions have the same
	}
}

// Records implements [observetools.Observers].
func (o *observersPart) Records() ([]discovery.Record, error) { return o.records.All() }

// Start implements [observetools.Observers].
func (o *observersPart) Start(ctx context.Context, s observetools.Start) (discovery.Record, error) {
	return o.start(ctx, s, observe.Tell)
}

// start starts an observer, which outlives this process, and returns when its addresses are known.
func (o *observersPart) start(ctx context.Context, s observetools.Start, notify observe.Notify) (discovery.Record, error) {
	target, err := observe.ParseTarget(s.Target)
	if err != nil {
		return discovery.Record{}, &targetError{err}
	}
	if target.Port() == strconv.Itoa(o.port) {
		return discovery.Record{}, &targetError{fmt.Errorf("%s is the gateway itself: name the address of an app", target)}
	}
	d := observe.Detachment{
		Self:      o.self,
		Arguments: observerArguments(s, target, notify),
		Dir:       s.Dir,
		Environ:   append(slices.Clone(o.environ), client.SocketVariable+"="+client.Socket(o.cfg)), // the settings of this gateway
		Records:   o.records,
	}
	return d.Start(ctx)
}

// observerArguments returns those of `bareclaw observe run`.
func observerArguments(s observetools.Start, target *url.URL, notify observe.Notify) []string {
	args := []string{"--target", target.String(), "--notify", string(notify)}
	if s.Port != 0 {
		args = append(args, "--port", strconv.Itoa(s.Port))
	}
	if s.Channel != "" {
		args = append(args, "--channel", string(s.Channel))
	}
	return args
}

// Stop implements [observetools.Observers].
func (o *observersPart) Stop(ctx context.Context, id string) error {
	r, err := o.find(id)
	if err != nil {
		return err
	}
	return observe.Stop(ctx, &r)
}

// find returns the record of an observer that runs. The error is core.ErrNotFound if there is none.
func (o *observersPart) find(id string) (discovery.Record, error) {
	all, err := o.records.Live()
	for _, r := range all {
		if r.ID == id {
			return r, nil
		}
	}
	if err != nil {
		return discovery.Record{}, err
	}
	return discovery.Record{}, fmt.Errorf("find the observer %.80q: %w", id, core.ErrNotFound)
}

func (o *observersPart) part() part {
	return part{
		name:     "observers",
		health:   o.health,
		metrics:  []prometheus.Collector{metrics.Func(o.writeMetrics)},
		mounts:   []httpapi.Mount{o.apiMount()},
		commands: observetools.Prompts(),
	}
}

func (o *observersPart) health(h *api.Health) {
	now := o.latest.Load()
	h.Observers = now.Health()
	h.Problems = append(h.Problems, now.Problems()...)
}

// writeMetrics writes how many observers run, and what they have found.
func (o *observersPart) writeMetrics(w *metrics.Writer) {
	now := o.latest.Load()
	w.Gauge("bareclaw_observers", "Observers of web apps that run.", float64(len(now.Observers)))
	open := map[string]int{}
	if h := now.Health(); h != nil {
		open = h.Open
	}
	for _, severity := range []rules.Severity{rules.Critical, rules.Warning, rules.Info} {
		w.Gauge("bareclaw_observer_findings", "Open findings of the observers that run, by severity.", float64(open[string(severity)]), "severity", string(severity))
	}
}
