package metrics

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/core/schedule"
)

// scheduleCollector counts the outcomes of due times.
type scheduleCollector struct {
	of  *schedule.Scheduler // nil: none
	log *slog.Logger

	active, occurrences *prometheus.Desc
}

// ForSchedules returns the metrics of schedules; a nil scheduler has none.
func ForSchedules(of *schedule.Scheduler, log *slog.Logger) prometheus.Collector {
	return &scheduleCollector{
		of: of, log: log,
		active:      prometheus.NewDesc("bareclaw_schedules", "Schedules with due times to come.", nil, nil),
		occurrences: prometheus.NewDesc("bareclaw_schedule_occurrences_total", "Due times of schedules since start, by outcome.", []string{"outcome"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *scheduleCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.active
	descs <- c.occurrences
}

// Collect implements prometheus.Collector.
func (c *scheduleCollector) Collect(out chan<- prometheus.Metric) {
	if c.of == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	if n, err := c.of.Active(ctx); err == nil {
		out <- prometheus.MustNewConstMetric(c.active, prometheus.GaugeValue, float64(n))
	} else {
		c.log.Warn("metrics: read schedules", "err", err)
	}
	n := c.of.Stats()
	for outcome, count := range map[schedule.Outcome]int64{
		schedule.Sent: n.Sent, schedule.Skipped: n.Skipped, schedule.Missed: n.Missed, schedule.Refused: n.Refused,
	} {
		out <- prometheus.MustNewConstMetric(c.occurrences, prometheus.CounterValue, float64(count), string(outcome))
	}
}
