// Package metrics writes the gateway's metrics in the text format of
// prometheus.io/docs/instrumenting/exposition_formats.
package metrics

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"bareclaw/core"
	"bareclaw/core/lanes"
	"bareclaw/core/schedule"
)

// A Writer gathers metrics. Samples of one name must be added in a row.
type Writer struct {
	text strings.Builder
	last string // name of the last metric
}

// Counter adds a value that only grows. Labels are pairs of name and value.
func (w *Writer) Counter(name, help string, value float64, labels ...string) {
	w.header(name, help, "counter")
	w.sample(name, value, labels)
}

// Gauge adds a value that may grow and shrink. Labels are pairs of name and value.
func (w *Writer) Gauge(name, help string, value float64, labels ...string) {
	w.header(name, help, "gauge")
	w.sample(name, value, labels)
}

// String returns the gathered text.
func (w *Writer) String() string { return w.text.String() }

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

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// buckets are the upper bounds of durations, in seconds.
var buckets = [...]float64{.0005, .001, .0025, .005, .01, .025, .1, .5, 1, 5, 30, 120, 600, math.Inf(1)}

// A Histogram counts durations by the values of its labels. All methods are safe for concurrent
// use.
type Histogram struct {
	name, help string
	labels     []string

	mu     sync.Mutex            // protects series
	series map[string]*durations // by the values, joined
}

type durations struct {
	labels []string             // pairs of name and value
	counts [len(buckets)]uint64 // by the smallest bucket
	sum    float64              // seconds
}

// NewHistogram returns a histogram without durations.
func NewHistogram(name, help string, labels ...string) *Histogram {
	return &Histogram{name: name, help: help, labels: labels, series: map[string]*durations{}}
}

// Observe counts a duration, with a value for each label. Callers must bound the number of
// different values.
func (h *Histogram) Observe(took time.Duration, values ...string) {
	i, _ := slices.BinarySearch(buckets[:], took.Seconds())
	h.mu.Lock()
	defer h.mu.Unlock()
	key := strings.Join(values, "\x00")
	d := h.series[key]
	if d == nil {
		d = &durations{}
		for i, name := range h.labels {
			d.labels = append(d.labels, name, values[i])
		}
		h.series[key] = d
	}
	d.counts[i]++
	d.sum += took.Seconds()
}

// WriteTo adds the durations, sorted by the values of their labels.
func (h *Histogram) WriteTo(w *Writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.header(h.name, h.help, "histogram")
	for _, key := range slices.Sorted(maps.Keys(h.series)) {
		d, count := h.series[key], uint64(0)
		for i, n := range d.counts {
			count += n
			w.sample(h.name+"_bucket", float64(count), append(d.labels[:len(d.labels):len(d.labels)], "le", number(buckets[i])))
		}
		w.sample(h.name+"_sum", d.sum, d.labels)
		w.sample(h.name+"_count", float64(count), d.labels)
	}
}

// readTimeout bounds the wait of a scrape for the ledger.
const readTimeout = 5 * time.Second

// Channels counts what channels do.
type Channels interface {
	Stats() *lanes.Stats
	Lanes() int
	Spending() core.Spending
	Overview(ctx context.Context) (core.Overview, error)
}

// A Balancer has the account of all messages.
type Balancer interface {
	Balance(ctx context.Context) (core.Balance, error)
}

// Schedules counts schedules.
type Schedules interface {
	Active(ctx context.Context) (int, error)
	Stats() schedule.Stats
}

// WriteTotals adds the counts of core. If the ledger cannot be read, its counts are left out.
func WriteTotals(ctx context.Context, w *Writer, channels Channels, ledger Balancer, log *slog.Logger) {
	writeStats(w, channels.Stats())
	today := channels.Spending()
	w.Gauge("bareclaw_lanes", "Channels served by this process.", float64(channels.Lanes()))
	w.Gauge("bareclaw_spent_usd_today", "Cost of turns and background results today, in local time.", today.Spent)
	w.Gauge("bareclaw_daily_budget_usd", "Limit of the cost of a day; 0 without a limit.", today.Limit)
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if o, err := channels.Overview(ctx); err == nil { // an error means that core shuts down
		running, waiting := 0, 0
		for i := range o.Active {
			waiting += o.Active[i].Waiting
			if o.Active[i].Turn != "" {
				running++
			}
		}
		w.Gauge("bareclaw_turns_running", "Turns in progress.", float64(running))
		w.Gauge("bareclaw_queue_messages", "Messages that wait for their turn.", float64(waiting))
		w.Gauge("bareclaw_sessions", "Agent sessions that are alive.", float64(o.Hosts))
		states := o.States()
		for _, state := range slices.Sorted(maps.Keys(states)) {
			w.Gauge("bareclaw_channels", "Channels with a conversation or something to do, by state.", float64(states[state]), "state", state)
		}
	}
	b, err := ledger.Balance(ctx)
	if err != nil {
		log.Warn("metrics: read the ledger's balance", "err", err)
		return
	}
	w.Counter("bareclaw_messages_accepted_total", "Messages ever accepted.", float64(b.Accepted))
	for _, o := range []struct {
		outcome string
		count   int64
	}{{"answered", b.Answered}, {"failed", b.Failed}, {"cancelled", b.Cancelled}} {
		w.Counter("bareclaw_messages_total", "Messages ever ended, by outcome.", float64(o.count), "outcome", o.outcome)
	}
	w.Gauge("bareclaw_messages_waiting", "Messages without an outcome, running ones included.", float64(b.Waiting))
	w.Gauge("bareclaw_balance_ok", "1 while every accepted message is accounted for exactly once.", map[bool]float64{true: 1}[b.Even()])
}

func writeStats(w *Writer, s *lanes.Stats) {
	w.Counter("bareclaw_turns_total", "Turns handed to the agent since start.", float64(s.Turns.Load()))
	w.Counter("bareclaw_turn_errors_total", "Turns that ended without an answer since start.", float64(s.TurnErrors.Load()))
	w.Counter("bareclaw_turns_resent_total", "Turns handed over again after a fault since start.", float64(s.Resent.Load()))
	w.Counter("bareclaw_turns_interrupted_total", "Turns interrupted since start.", float64(s.Interrupted.Load()))
	w.Counter("bareclaw_turns_stalled_total", "Turns without any output for too long, since start.", float64(s.Stalled.Load()))
	w.Counter("bareclaw_channels_parked_total", "Times a channel was parked without a login or at a limit, since start.", float64(s.Parked.Load()))
	w.Counter("bareclaw_sessions_idled_total", "Idle sessions ended since start.", float64(s.Idled.Load()))
	w.Counter("bareclaw_sessions_evicted_total", "Sessions ended for another channel, since start.", float64(s.Evicted.Load()))
	w.Counter("bareclaw_queue_refused_total", "Messages refused because their channel was full, since start.", float64(s.QueueRefused.Load()))
}

// WriteSchedules adds the counts of schedules.
func WriteSchedules(ctx context.Context, w *Writer, of Schedules, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if n, err := of.Active(ctx); err == nil {
		w.Gauge("bareclaw_schedules", "Schedules with due times to come.", float64(n))
	} else {
		log.Warn("metrics: read schedules", "err", err)
	}
	n := of.Stats()
	for _, o := range []struct {
		outcome schedule.Outcome
		count   int64
	}{{schedule.Sent, n.Sent}, {schedule.Skipped, n.Skipped}, {schedule.Missed, n.Missed}, {schedule.Refused, n.Refused}} {
		w.Counter("bareclaw_schedule_occurrences_total", "Due times of schedules since start, by outcome.", float64(o.count), "outcome", string(o.outcome))
	}
}

// WriteProcess adds the metrics of the Go runtime and of the process, under the names used by
// all Go programs. Where the system has no /proc, its figures are left out.
func WriteProcess(w *Writer, startedAt time.Time) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.Gauge("go_info", "Information about the Go environment.", 1, "version", runtime.Version())
	w.Gauge("go_goroutines", "Number of goroutines that currently exist.", float64(runtime.NumGoroutine()))
	w.Counter("go_gc_duration_seconds_count", "Number of completed garbage collections.", float64(m.NumGC))
	w.Counter("go_gc_duration_seconds_sum", "Time for which garbage collections stopped the program.", time.Duration(m.PauseTotalNs).Seconds())
	w.Gauge("go_memstats_alloc_bytes", "Bytes allocated in heap and currently in use.", float64(m.Alloc))
	w.Counter("go_memstats_alloc_bytes_total", "Bytes allocated in heap until now, even if released already.", float64(m.TotalAlloc))
	w.Counter("go_memstats_mallocs_total", "Heap objects allocated.", float64(m.Mallocs))
	w.Gauge("go_memstats_heap_objects", "Currently allocated objects.", float64(m.HeapObjects))
	w.Gauge("go_memstats_heap_inuse_bytes", "Heap bytes that are in use.", float64(m.HeapInuse))
	w.Gauge("go_memstats_heap_idle_bytes", "Heap bytes waiting to be used.", float64(m.HeapIdle))
	w.Gauge("go_memstats_heap_released_bytes", "Heap bytes released to the system.", float64(m.HeapReleased))
	w.Gauge("go_memstats_next_gc_bytes", "Heap bytes when the next garbage collection will take place.", float64(m.NextGC))
	w.Gauge("go_memstats_sys_bytes", "Bytes obtained from the system.", float64(m.Sys))
	w.Gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", float64(startedAt.UnixMilli())/1000)
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		spent := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		w.Counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", spent.Seconds())
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		w.Gauge("process_max_fds", "Maximum number of open file descriptors.", float64(files.Cur))
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		w.Gauge("process_open_fds", "Number of open file descriptors.", float64(len(open)))
	}
	var virtual, resident float64 // in pages, see proc_pid_statm(5)
	text, _ := os.ReadFile("/proc/self/statm")
	if _, err := fmt.Sscan(string(text), &virtual, &resident); err == nil {
		w.Gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", virtual*float64(os.Getpagesize()))
		w.Gauge("process_resident_memory_bytes", "Resident memory size in bytes.", resident*float64(os.Getpagesize()))
	}
}
