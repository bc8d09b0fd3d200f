package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/adapters/telegram"
)

// telegramMetrics collects the metrics of the Telegram adapter, if it is enabled.
type telegramMetrics struct {
	health func() (h telegram.Health, enabled bool)

	ready, age, strangers, pending, failed *prometheus.Desc
}

func newTelegramMetrics(health func() (h telegram.Health, enabled bool)) *telegramMetrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("bareclaw_telegram_"+name, help, nil, nil)
	}
	return &telegramMetrics{
		health:    health,
		ready:     desc("ready", "1 while messages are received."),
		age:       desc("last_poll_age_seconds", "How long ago a poll was completed; left out before the first one."),
		strangers: desc("strangers_total", "Updates of users that are not allowed, since start."),
		pending:   desc("deliveries_pending", "Deliveries that are still to be made."),
		failed:    desc("deliveries_failed_total", "Deliveries given up, since start."),
	}
}

// Describe implements prometheus.Collector.
func (c *telegramMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.ready, c.age, c.strangers, c.pending, c.failed} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c *telegramMetrics) Collect(out chan<- prometheus.Metric) {
	t, enabled := c.health()
	if !enabled {
		return
	}
	ready := 0.0
	if t.Ready {
		ready = 1
	}
	out <- prometheus.MustNewConstMetric(c.ready, prometheus.GaugeValue, ready)
	if !t.LastPoll.IsZero() {
		out <- prometheus.MustNewConstMetric(c.age, prometheus.GaugeValue, time.Since(t.LastPoll).Seconds())
	}
	out <- prometheus.MustNewConstMetric(c.strangers, prometheus.CounterValue, float64(t.Strangers))
	out <- prometheus.MustNewConstMetric(c.pending, prometheus.GaugeValue, float64(t.Pending))
	out <- prometheus.MustNewConstMetric(c.failed, prometheus.CounterValue, float64(t.Failed))
}
