package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// balanceTimeout bounds what a scrape waits for the ledger.
const balanceTimeout = 5 * time.Second

// registerMetrics registers all metrics of the gateway, and returns that of requests.
func registerMetrics(registry *prometheus.Registry, o Options, t totals) *prometheus.HistogramVec {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "bareclaw_http_request_duration_seconds",
		Help:    "Duration of requests, waits and streams included, by route and status (gone: the client disconnected first).",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .1, .5, 1, 5, 30, 120, 600},
	}, []string{"method", "route", "status"})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "bareclaw_build_info", Help: "Which build this is; always 1.",
		ConstLabels: prometheus.Labels{"version": o.Health().Version, "go": runtime.Version()},
	})
	build.Set(1)
	spares := func(state string, read func(Spares) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "bareclaw_warm_spares", Help: "Sessions that wait for a new channel: ready ones, and how many are wanted.",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(read(o.Health().Spares)) })
	}
	registry.MustRegister(durations, build, newGatewayMetrics(t, o.Log),
		spares("ready", func(s Spares) int { return s.Ready }), spares("wanted", func(s Spares) int { return s.Wanted }),
		newScheduleMetrics(o.Schedules, o.Log),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	registry.MustRegister(o.Collectors...)
	return durations
}

// observe records the duration of a request.
func observe(durations *prometheus.HistogramVec, res *response, method string, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other" // a label must not grow with what strangers send
	}
	status := "gone"
	if res.status != 0 {
		status = strconv.Itoa(res.status)
	}
	durations.WithLabelValues(method, res.route, status).Observe(took.Seconds())
}

// gatewayMetrics reads core's counts at each scrape.
type gatewayMetrics struct {
	core totals
	log  *slog.Logger

	accepted, outcomes, waiting, even, channels *prometheus.Desc
	stats                                       []statMetric
}

type statMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(core.Stats) float64
}

func newGatewayMetrics(t totals, log *slog.Logger) *gatewayMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("bareclaw_"+name, help, labels, nil)
	}
	counter := func(name, help string, read func(core.Stats) float64) statMetric {
		return statMetric{desc(name, help), prometheus.CounterValue, read}
	}
	gauge := func(name, help string, read func(core.Stats) float64) statMetric {
		return statMetric{desc(name, help), prometheus.GaugeValue, read}
	}
	return &gatewayMetrics{
		core: t, log: log,
		accepted: desc("messages_accepted_total", "Messages ever accepted."),
		outcomes: desc("messages_total", "Messages ever ended, by outcome.", "outcome"),
		waiting:  desc("messages_waiting", "Messages without an outcome, running ones included."),
		even:     desc("balance_ok", "1 while every accepted message is accounted for exactly once."),
		channels: desc("channels", "Channels with a conversation or something to do, by state.", "state"),
		stats: []statMetric{
			counter("turns_total", "Turns handed to the agent since start.", func(s core.Stats) float64 { return float64(s.Turns) }),
			counter("turn_errors_total", "Turns that ended without an answer since start.", func(s core.Stats) float64 { return float64(s.TurnErrors) }),
			counter("turns_resent_total", "Turns handed over again after a fault since start.", func(s core.Stats) float64 { return float64(s.Resent) }),
			counter("turns_interrupted_total", "Turns interrupted since start.", func(s core.Stats) float64 { return float64(s.Interrupted) }),
			counter("turns_stalled_total", "Turns of which nothing was heard for too long, since start.", func(s core.Stats) float64 { return float64(s.Stalled) }),
			counter("channels_parked_total", "Times a channel was parked for want of a login or for a limit, since start.", func(s core.Stats) float64 { return float64(s.Parked) }),
			counter("sessions_idled_total", "Sessions ended because nobody used them, since start.", func(s core.Stats) float64 { return float64(s.Idled) }),
			counter("sessions_evicted_total", "Sessions ended because another channel needed one, since start.", func(s core.Stats) float64 { return float64(s.Evicted) }),
			counter("queue_refused_total", "Messages refused because their channel was full, since start.", func(s core.Stats) float64 { return float64(s.QueueRefused) }),
			gauge("turns_running", "Turns in progress.", func(s core.Stats) float64 { return float64(s.Running) }),
			gauge("queue_messages", "Messages that wait for their turn.", func(s core.Stats) float64 { return float64(s.Waiting) }),
			gauge("lanes", "Channels served by this process.", func(s core.Stats) float64 { return float64(s.Lanes) }),
			gauge("spent_usd_today", "What turns and background results have cost today, in local time.", func(s core.Stats) float64 { return s.Spending.Spent }),
			gauge("daily_budget_usd", "What a day may cost; 0 when there is no limit.", func(s core.Stats) float64 { return s.Spending.Limit }),
			gauge("sessions", "Agent sessions that are alive.", func(s core.Stats) float64 { return float64(s.Sessions) }),
		},
	}
}

// Describe implements prometheus.Collector.
func (c *gatewayMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.accepted, c.outcomes, c.waiting, c.even, c.channels} {
		descs <- d
	}
	for _, s := range c.stats {
		descs <- s.desc
	}
}

// Collect implements prometheus.Collector. When the ledger cannot be read, its
// counts are left out.
func (c *gatewayMetrics) Collect(out chan<- prometheus.Metric) {
	now := c.core.Stats()
	for _, s := range c.stats {
		out <- prometheus.MustNewConstMetric(s.desc, s.kind, s.read(now))
	}
	ctx, cancel := context.WithTimeout(context.Background(), balanceTimeout)
	defer cancel()
	if o, err := c.core.Overview(ctx); err == nil { // else it is shutting down
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

// metricsRoute serves the text format of prometheus.io/docs/instrumenting/exposition_formats.
func metricsRoute(registry *prometheus.Registry) route {
	return route{http.MethodGet, api.PathMetrics, func(w *response, _ *http.Request) error {
		families, err := registry.Gather()
		if err != nil {
			return fmt.Errorf("gather metrics: %w", err)
		}
		format := expfmt.NewFormat(expfmt.TypeTextPlain)
		w.Header().Set("Content-Type", string(format))
		enc := expfmt.NewEncoder(w, format)
		for _, f := range families {
			if err := enc.Encode(f); err != nil {
				return fmt.Errorf("encode metrics: %w", err)
			}
		}
		return nil
	}}
}
