// Package metrics writes the gateway's metrics in the text format of
// prometheus.io/docs/instrumenting/exposition_formats.
package metrics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Writer gathers metrics. Samples of one name must be added in a row.
type Writer struct {
	text strings.Builder
	last string // name of the last metric
}

// Counter adds a value that only grows. Labels are pairs of name and value.
func (w *Writer) Counter(name, help string, value float64, labels ...string) {
	w.add(name, help, "counter", value, labels)
}

// Gauge adds a value that may grow and shrink. Labels are pairs of name and value.
func (w *Writer) Gauge(name, help string, value float64, labels ...string) {
	w.add(name, help, "gauge", value, labels)
}

// String returns the gathered text.
func (w *Writer) String() string { return w.text.String() }

func (w *Writer) add(name, help, kind string, value float64, labels []string) {
	w.header(name, help, kind)
	w.sample(name, value, labels)
}

// header describes a metric before its first sample.
func (w *Writer) header(name, help, kind string) {
	if w.last != name {
		w.last = name
		fmt.Fprintf(&w.text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (w *Writer) sample(name string, value float64, labels []string) {
	w.text.WriteString(name)
	separator := "{"
	for pair := range slices.Chunk(labels, 2) {
		fmt.Fprintf(&w.text, `%s%s="%s"`, separator, pair[0], escaper.Replace(pair[1]))
		separator = ","
	}
	if len(labels) > 0 {
		w.text.WriteByte('}')
	}
	w.text.WriteString(" " + number(value) + "\n")
}

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// buckets are the upper bounds of a request's duration, in seconds.
var buckets = [...]float64{.0005, .001, .0025, .005, .01, .025, .1, .5, 1, 5, 30, 120, 600, math.Inf(1)}

// Requests counts requests by duration. The zero value is ready to use. All methods are safe
// for concurrent use.
type Requests struct {
	mu     sync.Mutex // protects the fields below
	series map[request]*durations
}

// A request is the kind of a request.
type request struct{ method, route, status string }

type durations struct {
	counts [len(buckets)]uint64 // by the smallest bucket
	sum    float64              // seconds
}

// Observe counts a request. Callers must bound the number of different texts.
func (r *Requests) Observe(method, route, status string, took time.Duration) {
	i, _ := slices.BinarySearch(buckets[:], took.Seconds())
	r.mu.Lock()
	defer r.mu.Unlock()
	key := request{method, route, status}
	if r.series == nil {
		r.series = map[request]*durations{}
	}
	d := r.series[key]
	if d == nil {
		d = &durations{}
		r.series[key] = d
	}
	d.counts[i]++
	d.sum += took.Seconds()
}

// WriteTo adds the durations of all requests.
func (r *Requests) WriteTo(w *Writer) {
	const name = "bareclaw_http_request_duration_seconds"
	r.mu.Lock()
	defer r.mu.Unlock()
	w.header(name, "Duration of requests, waits and streams included, by route and status (gone: the client disconnected first).", "histogram")
	for key, d := range r.series {
		labels := []string{"method", key.method, "route", key.route, "status", key.status}
		count := uint64(0)
		for i, n := range d.counts {
			count += n
			w.sample(name+"_bucket", float64(count), append(labels[:len(labels):len(labels)], "le", number(buckets[i])))
		}
		w.sample(name+"_sum", d.sum, labels)
		w.sample(name+"_count", float64(count), labels)
	}
}
