package analysis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bareclaw/observe/capture"
	"bareclaw/observe/rules"
)

// BenchmarkLooks looks at requests to some endpoints with all rules: of an app that tells nothing, of one that tells its
// queries and has no problems, and of one in which each request has some, also of the whole app.
func BenchmarkLooks(b *testing.B) {
	for name, app := range map[string]struct {
		endpoints int
		queries   func(endpoint int) []string
		evidence  capture.Evidence
	}{
		"silent": {
			endpoints: 1,
			queries:   func(int) []string { return nil },
			evidence:  capture.Response | capture.Body,
		},
		"told": {
			endpoints: 50,
			queries: func(endpoint int) []string {
				return []string{
					fmt.Sprintf("SELECT id, name FROM items_%d WHERE id = $1", endpoint),
					fmt.Sprintf("UPDATE items_%d SET name = $1 WHERE id = $2", endpoint),
				}
			},
			evidence: capture.Response | capture.Body | capture.Traced | capture.Queried,
		},
		"flawed": {
			endpoints: 50,
			queries:   func(int) []string { return slices.Repeat([]string{"SELECT * FROM items WHERE id = $1"}, 10) },
			evidence:  capture.Response | capture.Body | capture.Traced | capture.Queried,
		},
	} {
		b.Run(name, func(b *testing.B) {
			o := newObserver(b, rules.All()...)
			var requests []capture.Request
			for i := range 1000 {
				endpoint := i % app.endpoints
				r := o.request(fmt.Sprint("GET /items/", endpoint), app.queries(endpoint)...)
				r.Evidence = app.evidence
				r.Method = "GET"
				r.URL = r.Endpoint
				r.Received.Media = "application/json"
				r.Received.Body = []byte(`{"items":[{"name":"lamp","price":3},{"name":"chair","price":25}]}`)
				r.Received.Size = int64(len(r.Received.Body))
				requests = append(requests, r)
			}
			next := 0
			look := func() {
				r := requests[next%len(requests)]
				next++
				r.ID = fmt.Sprint(next)
				r.Started = r.Started.Add(time.Duration(next) * time.Second)
				l := capture.Look{Request: &r}
				if r.Evidence.Has(capture.Traced) {
					o.analyst.look(&l)
				}
				l.Settled = true
				o.analyst.look(&l)
			}
			for range requests {
				look()
			}
			for b.Loop() {
				look()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
