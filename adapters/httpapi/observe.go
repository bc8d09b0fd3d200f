package httpapi

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
)

// registerMetrics registers all metrics of the gateway, and returns the metric of
// requests.
func registerMetrics(registry *prometheus.Registry, o Options, t metrics.Totals) *prometheus.HistogramVec {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "bareclaw_http_request_duration_seconds",
		Help:    "Duration of requests, waits and streams included, by route and status (gone: the client disconnected first).",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .1, .5, 1, 5, 30, 120, 600},
	}, []string{"method", "route", "status"})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "bareclaw_build_info", Help: "Which build this is; always 1.",
		ConstLabels: prometheus.Labels{"version": o.Health().Version, "go": runtime.Version()},
	})
	build.Set(1)
	spares := func(state string, count func(Spares) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "bareclaw_warm_spares", Help: "Sessions that wait for a new channel: ready ones, and how many are wanted.",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(count(o.Health().Spares)) })
	}
	registry.MustRegister(durations, build, metrics.ForCore(t, o.Log),
		spares("ready", func(s Spares) int { return s.Ready }), spares("wanted", func(s Spares) int { return s.Wanted }),
		metrics.ForSchedules(o.Schedules, o.Log),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	registry.MustRegister(o.Collectors...)
	return durations
}

// observe records the duration of a request.
func observe(durations *prometheus.HistogramVec, res *response, method string, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other" // clients must not be able to add label values
	}
	status := "gone"
	if res.status != 0 {
		status = strconv.Itoa(res.status)
	}
	durations.WithLabelValues(method, res.route, status).Observe(took.Seconds())
}

// metricsRoute serves the text format of prometheus.io/docs/instrumenting/exposition_formats.
func metricsRoute(registry *prometheus.Registry) route {
	return route{http.MethodGet, api.PathMetrics, func(w *response, _ *http.Request) error {
		families, err := registry.Gather()
		if err != nil {
			return fmt.Errorf("gather metrics: %w", err)
		}
		format := expfmt.NewFormat(expfmt.TypeTextPlain)
		w.Header().Set("Content-Type", string(format))
		enc := expfmt.NewEncoder(w, format)
		for _, f := range families {
			if err := enc.Encode(f); err != nil {
				return fmt.Errorf("encode metrics: %w", err)
			}
		}
		return nil
	}}
}
