package metrics

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"bareclaw/core/lanes"
)

// TestFormat has Prometheus' own parser read all that is written.
func TestFormat(t *testing.T) {
	t.Parallel()
	var s lanes.Stats
	s.Turns.Store(8)
	counts := Func(func(w *Writer) {
		writeStats(w, &s)
		w.Gauge("build", "A build.", 1, "version", "a \"b\" \\ \n c", "go", "1")
	})
	h := NewHistogram("request_duration_seconds", "Durations.", "method", "status")
	h.WithLabelValues("GET", "200").Observe(.001)
	h.WithLabelValues("GET", "200").Observe(3600)
	h.WithLabelValues("POST", "gone").Observe(3)
	text, err := Text(NewRegistry(counts, h))
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if got := families["bareclaw_turns_total"].GetMetric()[0].GetCounter().GetValue(); got != 8 {
		t.Errorf("%v turns", got)
	}
	for _, of := range []string{"go_info", "go_goroutines", "go_memstats_alloc_bytes", "process_cpu_seconds_total", "process_start_time_seconds"} {
		if families[of] == nil {
			t.Errorf("no %s", of)
		}
	}
	if got := families["build"].GetMetric()[0].GetLabel()[1].GetValue(); got != "a \"b\" \\ \n c" {
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
			if h.GetSampleCount() != 2 || h.GetSampleSum() != 3600.001 || below[.0005] != 0 || below[.001] != 1 || below[600] != 1 || len(below) != 14 {
				t.Errorf("got %v", h)
			}
		case "POST":
			if h.GetSampleCount() != 1 || below[1] != 0 || below[5] != 1 {
				t.Errorf("got %v", h)
			}
		}
	}
}

// TestOneBadMetric holds that a metric that cannot be written takes no other one with it.
func TestOneBadMetric(t *testing.T) {
	t.Parallel()
	text, err := Text(NewRegistry(Func(func(w *Writer) {
		w.Gauge("good", "A metric.", 1)
		w.Gauge("bad", "A metric.", 1, "of", "\xff")
	})))
	if err == nil || !strings.Contains(string(text), "good 1\n") {
		t.Errorf("%v, got\n%s", err, text)
	}
}
