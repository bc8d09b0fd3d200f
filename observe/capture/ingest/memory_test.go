package ingest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"bareclaw/observe/capture"
)

// TestMemory: batches as large as they may be, whose texts are all long, take little memory once they are taken.
func TestMemory(t *testing.T) {
	store := capture.NewStore(capture.Options{})
	heap := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	long := strings.Repeat("x", 16<<10)
	before := heap()
	for n := range 4 {
		request := fmt.Sprint("r", n)
		events := []string{`{"type":"request","requestId":"` + request + `","data":{"method":"` + long + `","url":"/` + long + `"}}`}
		for len(events) < 10<<20/len(long)/3 {
			data := fmt.Sprintf(`{"driver":%q,"table":%q,"sql":"SELECT %d"}`, long, long, len(events))
			switch len(events) % 3 {
			case 1:
				data = fmt.Sprintf(`{"level":%q,"message":%q}`, long, long)
			case 2:
				data = fmt.Sprintf(`{"method":%q,"url":%q}`, long, long)
			}
			kind := []string{"query", "log", "fetch"}[len(events)%3]
			events = append(events, fmt.Sprintf(`{"type":%q,"requestId":%q,"data":%s}`, kind, request, data))
		}
		status, answer := post(store, `{"_brakit":true,"version":1,"events":[`+strings.Join(events, ",")+`]}`)
		if status >= 300 {
			t.Fatal(status, answer)
		}
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the store takes %d MiB", grown>>20)
	}
	for _, r := range store.Requests(capture.Filter{}) {
		for _, q := range r.Queries {
			if len(q.Table)+len(q.System) > 1<<10 {
				t.Fatalf("a query has a table of %d bytes and a system of %d", len(q.Table), len(q.System))
			}
		}
	}
	runtime.KeepAlive(store)
}
