package httpapi

import (
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
)

// observe records the duration of a request.
func (s *Server) observe(res *response, method string, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other" // clients must not be able to add label values
	}
	status := "gone"
	if res.status != 0 {
		status = strconv.Itoa(res.status)
	}
	s.requests.Observe(method, res.route, status, took)
}

// metricsRoute serves all metrics of the gateway.
func metricsRoute(o Options, t metrics.Totals, requests *metrics.Requests) route {
	return route{http.MethodGet, api.PathMetrics, func(w *response, r *http.Request) error {
		own := o.Health()
		var m metrics.Writer
		m.Gauge("bareclaw_build_info", "Which build this is; always 1.", 1, "go", runtime.Version(), "version", own.Version)
		const spares = "Sessions that wait for a new channel: ready ones, and how many are wanted."
		m.Gauge("bareclaw_warm_spares", spares, float64(own.Spares.Ready), "state", "ready")
		m.Gauge("bareclaw_warm_spares", spares, float64(own.Spares.Wanted), "state", "wanted")
		metrics.WriteTotals(r.Context(), &m, t, o.Log)
		if o.Schedules != nil {
			metrics.WriteSchedules(r.Context(), &m, o.Schedules, o.Log)
		}
		if o.Metrics != nil {
			o.Metrics(&m)
		}
		requests.WriteTo(&m)
		metrics.WriteProcess(&m, own.StartedAt)
		return w.bytes(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", []byte(m.String()))
	}}
}
