package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"bareclaw/core/lanes"
)

// TestFormat has Prometheus' own parser read all that is written.
func TestFormat(t *testing.T) {
	t.Parallel()
	var w Writer
	WriteProcess(&w, time.Unix(1, 500e6))
	var s lanes.Stats
	s.Turns.Store(8)
	writeStats(&w, &s)
	w.Gauge("build", "A build.", 1, "version", "a \"b\" \\ \n c", "go", "1")
	h := NewHistogram("request_duration_seconds", "Durations.", "method", "status")
	h.Observe(time.Millisecond, "GET", "200")
	h.Observe(time.Hour, "GET", "200")
	h.Observe(3*time.Second, "POST", "gone")
	h.WriteTo(&w)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(w.String()))
	if err != nil {
		t.Fatalf("%v:\n%s", err, w.String())
	}
	if got := families["bareclaw_turns_total"].GetMetric()[0].GetCounter().GetValue(); got != 8 {
		t.Errorf("%v turns", got)
	}
	if got := families["process_start_time_seconds"].GetMetric()[0].GetGauge().GetValue(); got != 1.5 {
		t.Errorf("started at %v", got)
	}
	if got := families["build"].GetMetric()[0].GetLabel()[0].GetValue(); got != "a \"b\" \\ \n c" {
		t.Errorf("a label is %q", got)
	}
	for _, m := range families["request_duration_seconds"].GetMetric() {
		h := m.GetHistogram()
		below := map[float64]uint64{}
		for _, b := range h.GetBucket() {
			below[b.GetUpperBound()] = b.GetCumulativeCount()
		}
		switch m.GetLabel()[0].GetValue() {
		case "GET":
			if h.GetSampleCount() != 2 || h.GetSampleSum() != 3600.001 || below[.0005] != 0 || below[.001] != 1 || below[600] != 1 || len(below) != len(buckets) {
				t.Errorf("got %v", h)
			}
		case "POST":
			if h.GetSampleCount() != 1 || below[1] != 0 || below[5] != 1 {
				t.Errorf("got %v", h)
			}
		}
	}
}
