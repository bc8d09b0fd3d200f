package ledger_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger"
)

// BenchmarkSync is what the disk allows: 4 KiB rewritten in place, then synced.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	var took []time.Duration
	for b.Loop() {
		begun := time.Now()
		if _, err := f.WriteAt(page, 0); err != nil {
			b.Fatal(err)
		}
		if err := datasync(f); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	reportLatency(b, took)
}

// BenchmarkOneWriter is a single message at a time: two changes, one after the
// other. The latency is that of one change, from Write to done.
func BenchmarkOneWriter(b *testing.B) {
	l := open(b)
	landed := make(chan error, 1)
	var took []time.Duration
	change := func(c core.Change) {
		begun := time.Now()
		l.Write(c, func(err error) { landed <- err })
		if err := <-landed; err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	spent := cpuTime(b)
	for b.Loop() {
		m := message("bench")
		turn := turnOf(m)
		change(accepted(m, turn))
		change(answered(m, turn))
	}
	reportCPU(b, spent)
	reportLatency(b, took)
}

// BenchmarkHundredWriters is a hundred channels that each send a message when
// they have the answer to the one before.
func BenchmarkHundredWriters(b *testing.B) { benchWriters(b, 100) }

// BenchmarkTenWriters is the same with ten.
func BenchmarkTenWriters(b *testing.B) { benchWriters(b, 10) }

func benchWriters(b *testing.B, writers int) {
	l := open(b)
	var left atomic.Int64
	left.Store(int64(b.N))
	took := make([][]time.Duration, writers)
	before, spent := l.Stats(), cpuTime(b)
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			channel := fmt.Sprintf("channel-%d", w)
			for left.Add(-1) >= 0 {
				took[w] = append(took[w], exchange(b, l, channel))
			}
		})
	}
	wg.Wait()
	reportCPU(b, spent)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
	reportLatency(b, slices.Concat(took...))
	after := l.Stats()
	b.ReportMetric(float64(after.Changes-before.Changes)/float64(after.Commits-before.Commits), "changes/commit")
}

// exchange takes one message through its life and returns how long the longer of
// the two changes took.
func exchange(b *testing.B, l *ledger.Ledger, channel string) time.Duration {
	m := message(channel)
	turn := turnOf(m)
	begun := time.Now()
	if err := write(l, accepted(m, turn)); err != nil {
		b.Error(err)
	}
	half := time.Now()
	if err := write(l, answered(m, turn)); err != nil {
		b.Error(err)
	}
	return max(half.Sub(begun), time.Since(half))
}

func reportLatency(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

func reportCPU(b *testing.B, since time.Duration) {
	b.ReportMetric(float64((cpuTime(b)-since).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOpen is the start with a ledger of some size, and its clean end.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ledger.db")
	must(b, openAt(b, path).Close())
	for b.Loop() {
		l := openAt(b, path)
		if _, _, err := l.Open(b.Context()); err != nil {
			b.Fatal(err)
		}
		must(b, l.Close())
	}
}
