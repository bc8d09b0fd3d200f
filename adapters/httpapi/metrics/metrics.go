// Package metrics collects the counts of core and of schedules for GET /metrics.
package metrics

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/core"
	"bareclaw/core/lanes"
)

// readTimeout bounds the wait of a scrape for the ledger.
const readTimeout = 5 * time.Second

// Totals has counts of all channels and messages.
type Totals interface {
	Overview(ctx context.Context) (core.Overview, error)
	Balance(ctx context.Context) (core.Balance, error)
	Stats() lanes.Stats
}

// totalsCollector reads core's counts at each scrape.
type totalsCollector struct {
	core Totals
	log  *slog.Logger

	accepted, outcomes, waiting, even, channels *prometheus.Desc
	stats                                       []statMetric
}

type statMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(lanes.Stats) float64
}

// ForCore returns the metrics of core.
func ForCore(t Totals, log *slog.Logger) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("bareclaw_"+name, help, labels, nil)
	}
	counter := func(name, help string, read func(lanes.Stats) float64) statMetric {
		return statMetric{desc(name, help), prometheus.CounterValue, read}
	}
	gauge := func(name, help string, read func(lanes.Stats) float64) statMetric {
		return statMetric{desc(name, help), prometheus.GaugeValue, read}
	}
	return &totalsCollector{
		core: t, log: log,
		accepted: desc("messages_accepted_total", "Messages ever accepted."),
		outcomes: desc("messages_total", "Messages ever ended, by outcome.", "outcome"),
		waiting:  desc("messages_waiting", "Messages without an outcome, running ones included."),
		even:     desc("balance_ok", "1 while every accepted message is accounted for exactly once."),
		channels: desc("channels", "Channels with a conversation or something to do, by state.", "state"),
		stats: []statMetric{
			counter("turns_total", "Turns handed to the agent since start.", func(s lanes.Stats) float64 { return float64(s.Turns) }),
			counter("turn_errors_total", "Turns that ended without an answer since start.", func(s lanes.Stats) float64 { return float64(s.TurnErrors) }),
			counter("turns_resent_total", "Turns handed over again after a fault since start.", func(s lanes.Stats) float64 { return float64(s.Resent) }),
			counter("turns_interrupted_total", "Turns interrupted since start.", func(s lanes.Stats) float64 { return float64(s.Interrupted) }),
			counter("turns_stalled_total", "Turns without any output for too long, since start.", func(s lanes.Stats) float64 { return float64(s.Stalled) }),
			counter("channels_parked_total", "Times a channel was parked without a login or at a limit, since start.", func(s lanes.Stats) float64 { return float64(s.Parked) }),
			counter("sessions_idled_total", "Idle sessions ended since start.", func(s lanes.Stats) float64 { return float64(s.Idled) }),
			counter("sessions_evicted_total", "Sessions ended for another channel, since start.", func(s lanes.Stats) float64 { return float64(s.Evicted) }),
			counter("queue_refused_total", "Messages refused because their channel was full, since start.", func(s lanes.Stats) float64 { return float64(s.QueueRefused) }),
			gauge("turns_running", "Turns in progress.", func(s lanes.Stats) float64 { return float64(s.Running) }),
			gauge("queue_messages", "Messages that wait for their turn.", func(s lanes.Stats) float64 { return float64(s.Waiting) }),
			gauge("lanes", "Channels served by this process.", func(s lanes.Stats) float64 { return float64(s.Lanes) }),
			gauge("spent_usd_today", "Cost of turns and background results today, in local time.", func(s lanes.Stats) float64 { return s.Spending.Spent }),
			gauge("daily_budget_usd", "Limit of the cost of a day; 0 without a limit.", func(s lanes.Stats) float64 { return s.Spending.Limit }),
			gauge("sessions", "Agent sessions that are alive.", func(s lanes.Stats) float64 { return float64(s.Sessions) }),
		},
	}
}

// Describe implements prometheus.Collector.
func (c *totalsCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.accepted, c.outcomes, c.waiting, c.even, c.channels} {
		descs <- d
	}
	for _, s := range c.stats {
		descs <- s.desc
	}
}

// Collect implements prometheus.Collector. When the ledger cannot be read, its
// counts are left out.
func (c *totalsCollector) Collect(out chan<- prometheus.Metric) {
	now := c.core.Stats()
	for _, s := range c.stats {
		out <- prometheus.MustNewConstMetric(s.desc, s.kind, s.read(now))
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	if o, err := c.core.Overview(ctx); err == nil { // an error means that core shuts down
		for state, n := range o.States() {
			out <- prometheus.MustNewConstMetric(c.channels, prometheus.GaugeValue, float64(n), state)
		}
	}
	b, err := c.core.Balance(ctx)
	if err != nil {
		c.log.Warn("metrics: read the ledger's balance", "err", err)
		return
	}
	even := 0.0
	if b.Even() {
		even = 1
	}
	out <- prometheus.MustNewConstMetric(c.accepted, prometheus.CounterValue, float64(b.Accepted))
	out <- prometheus.MustNewConstMetric(c.outcomes, prometheus.CounterValue, float64(b.Answered), "answered")
	out <- prometheus.MustNewConstMetric(c.outcomes, prometheus.CounterValue, float64(b.Failed), "failed")
	out <- prometheus.MustNewConstMetric(c.outcomes, prometheus.CounterValue, float64(b.Cancelled), "cancelled")
	out <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(b.Waiting))
	out <- prometheus.MustNewConstMetric(c.even, prometheus.GaugeValue, even)
}
