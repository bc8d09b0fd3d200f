package telegram

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/adapters/httpapi/metrics"
)

// TestMetrics holds that the metrics are those of the adapter, and the age of the last
// poll is left out before the first one.
func TestMetrics(t *testing.T) {
	t.Parallel()
	var now state
	check := func(want map[string]float64) {
		t.Helper()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(metrics.Func(now.writeMetrics))
		text, err := metrics.Text(registry)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, " "); name != "#" {
				got[name], _ = strconv.ParseFloat(strings.TrimSpace(value), 64)
			}
		}
		if age, ok := got["bareclaw_telegram_last_poll_age_seconds"]; ok && age >= 60 {
			got["bareclaw_telegram_last_poll_age_seconds"] = 60 // or some more, on a busy machine
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	now = state{strangers: 3, pending: 2, failed: 1}
	want := map[string]float64{
		"bareclaw_telegram_ready": 0, "bareclaw_telegram_strangers_total": 3, "bareclaw_telegram_deliveries_pending": 2,
		"bareclaw_telegram_deliveries_failed_total": 1,
	}
	check(want)
	now.ready, now.lastPoll = true, time.Now().Add(-time.Minute)
	want["bareclaw_telegram_ready"], want["bareclaw_telegram_last_poll_age_seconds"] = 1, 60
	check(want)
}
