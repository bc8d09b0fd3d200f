package metrics

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

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
	if virtual, resident, ok := pages(); ok {
		w.Gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", virtual*float64(os.Getpagesize()))
		w.Gauge("process_resident_memory_bytes", "Resident memory size in bytes.", resident*float64(os.Getpagesize()))
	}
}

// pages returns the size of the process in memory, in pages; see proc_pid_statm(5).
func pages() (virtual, resident float64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, 0, false
	}
	virtual, errVirtual := strconv.ParseFloat(fields[0], 64)
	resident, errResident := strconv.ParseFloat(fields[1], 64)
	return virtual, resident, errVirtual == nil && errResident == nil
}
