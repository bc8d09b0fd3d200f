package daemon

import (
	"time"

	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/adapters/telegram"
)

// writeTelegramMetrics adds the metrics of the Telegram adapter, if it is enabled.
func writeTelegramMetrics(w *metrics.Writer, t telegram.Health, enabled bool) {
	if !enabled {
		return
	}
	ready := 0.0
	if t.Ready {
		ready = 1
	}
	w.Gauge("bareclaw_telegram_ready", "1 while messages are received.", ready)
	if !t.LastPoll.IsZero() {
		w.Gauge("bareclaw_telegram_last_poll_age_seconds", "How long ago a poll was completed; left out before the first one.", time.Since(t.LastPoll).Seconds())
	}
	w.Counter("bareclaw_telegram_strangers_total", "Updates of users that are not allowed, since start.", float64(t.Strangers))
	w.Gauge("bareclaw_telegram_deliveries_pending", "Deliveries that are still to be made.", float64(t.Pending))
	w.Counter("bareclaw_telegram_deliveries_failed_total", "Deliveries given up, since start.", float64(t.Failed))
}
