package daemon

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/observe"
	"bareclaw/observe/discovery"
	observetools "bareclaw/observe/tools"
)

// An observersPart knows the observers of web apps, which are processes of their own: it starts and ends them, and
// tells people of those that have died. All methods are safe for concurrent use.
type observersPart struct {
	*base
	records discovery.Records
}

func newObservers(b *base) *observersPart {
	return &observersPart{
		base:    b,
		records: discovery.RecordsOf(b.cfg.StateDir()),
	}
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
		return discovery.Record{}, err
	}
	if target.Port() == strconv.Itoa(int(o.cfg.HTTP.Port)) {
		return discovery.Record{}, fmt.Errorf("%s is the gateway itself: name the address of an app", target)
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
		commands: observetools.Prompts(),
	}
}
