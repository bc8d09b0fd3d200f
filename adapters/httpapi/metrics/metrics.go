// Package metrics collects the gateway's metrics for the Prometheus client, and writes them as text.
package metrics

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"bareclaw/core"
	"bareclaw/core/lanes"
	"bareclaw/core/schedule"
)

// A Func is a prometheus.Collector: a function that writes the metrics of a scrape. It must be safe for
// concurrent use.
type Func func(*Writer)

// Describe describes nothing, since the metrics may differ from scrape to scrape.
func (Func) Describe(chan<- *prometheus.Desc) {}

// Collect writes the metrics.
func (f Func) Collect(to chan<- prometheus.Metric) { f(&Writer{to: to}) }

// A Writer passes on the metrics of a scrape.
type Writer struct {
	to chan<- prometheus.Metric
}

// Counter adds a value that only grows. Labels are pairs of name and value.
func (w *Writer) Counter(name, help string, value float64, labels ...string) {
	w.add(prometheus.CounterValue, name, help, value, labels)
}

// Gauge adds a value that may grow and shrink. Labels are pairs of name and value.
func (w *Writer) Gauge(name, help string, value float64, labels ...string) {
	w.add(prometheus.GaugeValue, name, help, value, labels)
}

func (w *Writer) add(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for pair := range slices.Chunk(labels, 2) {
		names = append(names, pair[0])
		values = append(values, pair[1])
	}
	desc := prometheus.NewDesc(name, help, names, nil)
	m, err := prometheus.NewConstMetric(desc, kind, value, values...)
	if err != nil {
		m = prometheus.NewInvalidMetric(desc, err)
	}
	w.to <- m
}

// NewHistogram returns a histogram of durations in seconds, by labels. Callers must bound the number
// of different values of a label.
func NewHistogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    name,
		Help:    help,
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .1, .5, 1, 5, 30, 120, 600},
	}, labels)
}

// NewRegistry returns a registry of the given collectors and those of the Go runtime and the process. It
// panics if two of them describe the same metric.
func NewRegistry(of ...prometheus.Collector) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(of...)
	return r
}

// ContentType is the media type of what Text returns.
const ContentType = string(expfmt.FmtText)

// Text returns the metrics in the text format of prometheus.io/docs/instrumenting/exposition_formats. If
// some cannot be collected, it returns the others and an error.
func Text(of prometheus.Gatherer) ([]byte, error) {
	families, err := of.Gather()
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return nil, fmt.Errorf("write metrics: %w", err)
		}
	}
	return b.Bytes(), err
}

// readTimeout bounds the wait of a scrape for the ledger.
const readTimeout = 5 * time.Second

// Channels counts what channels do.
type Channels interface {
	Stats() *lanes.Stats
	Lanes() int
	Spending() core.Spending
	Overview(ctx context.Context) (core.Overview, error)
}

// A Balancer has the account of all messages.
type Balancer interface {
	Balance(ctx context.Context) (core.Balance, error)
}

// Schedules counts schedules.
type Schedules interface {
	Active(ctx context.Context) (int, error)
	Stats() schedule.Stats
}

// WriteTotals adds the counts of core. If the ledger cannot be read, its counts are left out.
func WriteTotals(ctx context.Context, w *Writer, channels Channels, ledger Balancer, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	writeStats(w, channels.Stats())
	today := channels.Spending()
	w.Gauge("bareclaw_lanes", "Channels served by this process.", float64(channels.Lanes()))
	w.Gauge("bareclaw_spent_usd_today", "Cost of turns and background results today, in local time.", today.Spent)
	w.Gauge("bareclaw_daily_budget_usd", "Limit of the cost of a day; 0 without a limit.", today.Limit)
	overview, err := channels.Overview(ctx)
	if err == nil { // an error means that core shuts down
		writeOverview(w, &overview)
	}
	balance, err := ledger.Balance(ctx)
	if err != nil {
		log.Warn("metrics: read the ledger's balance", "err", err)
		return
	}
	writeBalance(w, balance)
}

func writeOverview(w *Writer, o *core.Overview) {
	running, waiting := 0, 0
	for i := range o.Active {
		waiting += o.Active[i].Waiting
		if o.Active[i].Turn != "" {
			running++
		}
	}
	w.Gauge("bareclaw_turns_running", "Turns in progress.", float64(running))
	w.Gauge("bareclaw_queue_messages", "Messages that wait for their turn.", float64(waiting))
	w.Gauge("bareclaw_sessions", "Agent sessions that are alive.", float64(o.Hosts))
	for state, channels := range o.States() {
		w.Gauge("bareclaw_channels", "Channels with a conversation or something to do, by state.", float64(channels), "state", state)
	}
}

func writeBalance(w *Writer, b core.Balance) {
	w.Counter("bareclaw_messages_accepted_total", "Messages ever accepted.", float64(b.Accepted))
	ended := map[string]int64{
		"answered":  b.Answered,
		"failed":    b.Failed,
		"cancelled": b.Cancelled,
	}
	for outcome, messages := range ended {
		w.Counter("bareclaw_messages_total", "Messages ever ended, by outcome.", float64(messages), "outcome", outcome)
	}
	w.Gauge("bareclaw_messages_waiting", "Messages without an outcome, running ones included.", float64(b.Waiting))
	even := 0.0
	if b.Even() {
		even = 1
	}
	w.Gauge("bareclaw_balance_ok", "1 while every accepted message is accounted for exactly once.", even)
}

func writeStats(w *Writer, s *lanes.Stats) {
	w.Counter("bareclaw_turns_total", "Turns handed to the agent since start.", float64(s.Turns.Load()))
	w.Counter("bareclaw_turn_errors_total", "Turns that ended without an answer since start.", float64(s.TurnErrors.Load()))
	w.Counter("bareclaw_turns_resent_total", "Turns handed over again after a fault since start.", float64(s.Resent.Load()))
	w.Counter("bareclaw_turns_interrupted_total", "Turns interrupted since start.", float64(s.Interrupted.Load()))
	w.Counter("bareclaw_turns_stalled_total", "Turns without any output for too long, since start.", float64(s.Stalled.Load()))
	w.Counter("bareclaw_channels_parked_total", "Times a channel was parked without a login or at a limit, since start.", float64(s.Parked.Load()))
	w.Counter("bareclaw_sessions_idled_total", "Idle sessions ended since start.", float64(s.Idled.Load()))
	w.Counter("bareclaw_sessions_evicted_total", "Sessions ended for another channel, since start.", float64(s.Evicted.Load()))
	w.Counter("bareclaw_queue_refused_total", "Messages refused because their channel was full, since start.", float64(s.QueueRefused.Load()))
}

// WriteSchedules adds the counts of schedules.
func WriteSchedules(ctx context.Context, w *Writer, of Schedules, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if n, err := of.Active(ctx); err == nil {
		w.Gauge("bareclaw_schedules", "Schedules with due times to come.", float64(n))
	} else {
		log.Warn("metrics: read schedules", "err", err)
	}
	stats := of.Stats()
	occurrences := map[schedule.Outcome]int64{
		schedule.Sent:    stats.Sent,
		schedule.Skipped: stats.Skipped,
		schedule.Missed:  stats.Missed,
		schedule.Refused: stats.Refused,
	}
	for outcome, count := range occurrences {
		w.Counter("bareclaw_schedule_occurrences_total", "Due times of schedules since start, by outcome.", float64(count), "outcome", string(outcome))
	}
}
