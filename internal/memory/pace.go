package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Pace makes the garbage collector run when the heap has grown by about room bytes since the
// last collection. By default the heap may grow by as much as is alive, at least 4 MiB: a
// small heap is collected too often, and a large heap leaves too much garbage. Pace does
// nothing if the environment sets GOGC.
func Pace(room uint64) {
	if os.Getenv("GOGC") == "" {
		(&pacer{room: room, percent: usualPercent}).await()
	}
}

const (
	usualPercent = 100
	// minPercent bounds the collector's work for a large heap. With maxPercent a nearly empty
	// heap is collected at 8 MiB: Go begins at 4 MiB with 100 %.
	minPercent, maxPercent = 25, 200
)

// A pacer sets the collector's percentage after each collection.
type pacer struct {
	room    uint64
	percent int // set at present
}

// await calls adjust after the next collection, on a goroutine of the runtime: the collection
// finds the new object unreachable.
func (p *pacer) await() {
	runtime.AddCleanup(&struct{ *pacer }{}, (*pacer).adjust, p)
}

func (p *pacer) adjust() {
	defer p.await()
	marked := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(marked)
	percent := percentFor(p.room, marked[0].Value.Uint64()+marked[1].Value.Uint64()+marked[2].Value.Uint64())
	if change := percent - p.percent; max(change, -change) > p.percent/8 { // each change stops the program for a moment
		p.percent = percent
		debug.SetGCPercent(percent)
	}
}

// percentFor returns the percentage at which the collector leaves room for so many bytes.
func percentFor(room, marked uint64) int {
	return int(min(maxPercent, max(minPercent, room*100/max(marked, 1))))
}
