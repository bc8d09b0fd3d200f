package httpapi

import (
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/metrics"
)

// TestPartsAreShown holds that the facts and metrics of the daemon's parts are in the
// replies, and only of parts that have any.
func TestPartsAreShown(t *testing.T) {
	t.Parallel()
	none := newRig(t, newFake(t), nil)
	if got := none.send("GET", "/health", "").object(t); got["telegram"] != nil {
		t.Errorf("there is no bot, and it is shown as %v", got["telegram"])
	}
	r := newRig(t, newFake(t), func(o *Options) {
		h := o.Health()
		h.Parts = map[string]any{"telegram": map[string]any{"ready": false, "problem": "asleep", "strangers": 3, "pending": 2, "failed": 1}}
		o.Health = func() Health { return h }
		o.Metrics = func(w *metrics.Writer) { w.Gauge("part_count", "A metric of a part.", 3) }
	})
	got, _ := r.send("GET", "/health", "").object(t)["telegram"].(map[string]any)
	if got["ready"] != false || got["problem"] != "asleep" || got["strangers"] != 3.0 {
		t.Errorf("got %v", got)
	}
	if body := r.send("GET", "/metrics", "").body; !strings.Contains(body, "part_count 3\n") {
		t.Errorf("the part's metric is missing:\n%s", body)
	}
}
