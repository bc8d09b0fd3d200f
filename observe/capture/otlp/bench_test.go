package otlp

import (
	"fmt"
	"net/http"
	"testing"

	"bareclaw/observe/capture"
)

// discard is a sink that keeps nothing.
type discard struct{}

func (discard) Signal(capture.Signal) {}

// BenchmarkSpans takes in batches of 512 spans, as exporters send them, and reports spans a second.
func BenchmarkSpans(b *testing.B) {
	const batchSize = 512
	spans := make([]testSpan, batchSize)
	for i := range spans {
		spans[i] = spanOf(kindClient, object{
			"db.system":        "postgresql",
			"db.statement":     "SELECT id, name, email FROM users WHERE team_id = $1 ORDER BY name LIMIT 50",
			"db.name":          "app",
			"db.user":          "app",
			"net.peer.name":    "127.0.0.1",
			"net.peer.port":    5432,
			"thread.id":        7,
			"otel.scope.extra": "pg",
		})
		spans[i].id = fmt.Sprintf("%016x", i+1)
	}
	for media, body := range tracesIn(b, spans...) {
		for encoding, sent := range map[string][]byte{"identity": body, "gzip": zipped(b, body)} {
			b.Run(media+"/"+encoding, func(b *testing.B) {
				r := NewReceiver(discard{})
				header := map[string]string{"Content-Type": media, "Content-Encoding": encoding}
				b.ReportAllocs()
				for b.Loop() {
					w := post(b, r, "/v1/traces", header, sent)
					if w.Code != http.StatusOK {
						b.Fatal(w.Code)
					}
				}
				b.ReportMetric(float64(b.N*batchSize)/b.Elapsed().Seconds(), "spans/s")
			})
		}
	}
}
