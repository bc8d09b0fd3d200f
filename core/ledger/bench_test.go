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

// BenchmarkOneWriter is one channel that sends a message when it has the answer
// to the one before. The latency is that of the change somebody waits for.
func BenchmarkOneWriter(b *testing.B) { benchWriters(b, 1) }

// BenchmarkHundredWriters is the same with a hundred channels.
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
	if balance, err := l.Balance(b.Context()); err != nil || balance.Waiting != 0 { // which waits for all that was written
		b.Errorf("balance = %+v, %v", balance, err)
	}
	reportCPU(b, spent)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
	reportLatency(b, slices.Concat(took...))
	after := l.Stats()
	b.ReportMetric(float64(after.Changes-before.Changes)/float64(after.Commits-before.Commits), "changes/commit")
}

// exchange takes one message through its life, as the core does: it waits until
// the message is recorded, not for its outcome. It returns how long that took.
func exchange(b *testing.B, l *ledger.Ledger, channel string) time.Duration {
	m := message(channel)
	turn := turnOf(m)
	begun := time.Now()
	if err := write(l, accepted(m, turn)); err != nil {
		b.Error(err)
	}
	took := time.Since(begun)
	outcome := answered(m, turn)
	outcome.Lazy = true
	l.Write(outcome, func(err error) {
		if err != nil {
			b.Error(err)
		}
	})
	return took
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
