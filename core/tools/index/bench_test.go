package index

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// many is the number of tools that the benchmarks have.
const many = 1200

// BenchmarkSearch measures searches by queries of all kinds.
func BenchmarkSearch(b *testing.B) {
	x := newIndex(b, manyTools(many)...)
	for _, q := range []struct{ name, query string }{
		{"rare", "cal2999"},
		{"word", "issue"},
		{"words", "create issue comment"},
		{"sentence", "I want to list all the open issues of a repository and send a report to the user, if there are any that are new"},
		{"common", "the a of in with for by and or from to which that is are returns given specified optional all new existing one current"},
	} {
		b.Run(q.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				_, err := x.Search(q.query, 10, nil)
				took = append(took, time.Since(began))
				check.OK(b, err)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkBuild measures how long the first search waits, and what the index takes: the pages of the
// database, and the heap of Go.
func BenchmarkBuild(b *testing.B) {
	docs := manyTools(many)
	x := New()
	for b.Loop() {
		x.Close()
		check.OK(b, x.Replace(docs))
	}
	pages := float64(number(b, x, `PRAGMA page_count`) * number(b, x, `PRAGMA page_size`))
	with := heapInUse()
	x.Close()
	heap := with - heapInUse()
	runtime.KeepAlive(docs)
	b.ReportMetric(pages/(1<<20), "MiB-pages")
	b.ReportMetric(heap/(1<<20), "MiB-heap")
}

// BenchmarkRenew measures a change of one tool.
func BenchmarkRenew(b *testing.B) {
	docs := manyTools(many)
	x := newIndex(b, docs...)
	for i := 0; b.Loop(); i++ {
		d := &docs[i%len(docs)]
		d.Description = docs[(i+7)%len(docs)].Description + " changed"
		check.OK(b, x.Replace(docs))
	}
}

// heapInUse returns the size of the objects that are in use, in bytes.
func heapInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
