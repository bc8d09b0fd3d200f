package daemon

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/adapters"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/adapters/kinds"
	"bareclaw/core/commands"
	"bareclaw/sessionhost/claude"
)

// An adapter serves the channels of a kind that is configured.
type adapter struct {
	*base
	adapters.Adapter
	kind adapters.Kind
}

// newAdapters makes the adapters that are configured. They must be made before the engine recovers,
// which makes deliveries.
func (d *daemon) newAdapters(table *commands.Table) (all []*adapter, err error) {
	for _, k := range kinds.All() {
		if !k.IsConfigured(d.cfg) {
			continue
		}
		made, err := k.New(adapters.Gateway{
			Config:   d.cfg,
			Core:     adapterCore(d.engine.manager),
			Commands: table,
			Push:     &d.push,
			Log:      d.log,
			PID:      d.supervisor.PID,
			Version:  version(),
			Agent:    d.engine.agent.describe(),
			Show:     claude.Show,
			Inert:    claude.Inert,
			Restart:  d.restarts.request,
		})
		if err != nil {
			return nil, fmt.Errorf("make the adapter %s: %w", k.Name, err)
		}
		if err := made.Prepare(context.Background()); err != nil {
			return nil, fmt.Errorf("prepare the adapter %s: %w", k.Name, err)
		}
		all = append(all, &adapter{base: d.base, Adapter: made, kind: k})
	}
	return all, nil
}

func (a *adapter) part() part {
	return part{name: a.kind.Name, stop: a.stop, health: a.health, metrics: []prometheus.Collector{metrics.Func(a.WriteMetrics)}}
}

func (a *adapter) stop(stopReason) error {
	a.Close()
	return nil
}

func (a *adapter) health(h *api.Health) {
	now := a.Adapter.Health()
	h.AddPart(api.Part{Name: a.kind.Name, Ready: now.Ready, Problem: now.Problem, Facts: now.Facts, Member: a.kind.HealthMember})
}

// serve runs the adapter until ctx ends.
func (a *adapter) serve(ctx context.Context) {
	if err := a.Run(ctx); err != nil {
		a.log.Error("channels are not served", "adapter", a.kind.Name, "err", err)
	}
}
