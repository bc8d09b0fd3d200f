package capture

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFiguresAreExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		if n := s.AppStarted(); n != 1 {
			t.Errorf("the first run is %d", n)
		}
		const many = 3 * maxRequests
		for n := range many {
			r := request(n, fmt.Sprintf("/users/%d", n))
			s.Begin(r)
			time.Sleep(time.Duration(n%100) * time.Millisecond)
			answer(s, r, 200+300*(n%10/9))
		}
		synctest.Wait()
		all := s.Endpoints()
		if len(all) != 1 {
			t.Fatalf("got %+v", all)
		}
		f := all[0].Run
		if f.Requests != many || f.Failed != many/10 || f.ErrorRate() != 0.1 || f.QueriesPerRequest() != -1 || f.Size != 7*many {
			t.Errorf("got %+v", f)
		}
		near := func(got, want time.Duration) bool { return got > want*93/100 && got < want*107/100 }
		if !near(f.P50, 50*time.Millisecond) || !near(f.P95, 95*time.Millisecond) {
			t.Errorf("p50 is %v, p95 %v", f.P50, f.P95)
		}
		kept := s.Requests(Filter{})
		if len(kept) != maxRequests || kept[0].URL != fmt.Sprintf("/users/%d", many-1) {
			t.Errorf("%d are kept, the newest is %s", len(kept), kept[0].URL)
		}
		if n := s.AppStarted(); n != 2 {
			t.Errorf("the second run is %d", n)
		}
		pass(s, many, "/users/1")
		all = s.Endpoints()
		if all[0].Run.Requests != 1 || all[0].Total.Requests != many+1 {
			t.Errorf("got %+v", all)
		}
		again, ok := s.Replay("GET /users/:id")
		if !ok || again.URL != "/users/1" {
			t.Errorf("to be sent again is %+v", again)
		}
		s.Clear()
		if len(s.Requests(Filter{})) != 0 || len(s.Endpoints()) != 0 {
			t.Error("there is something left")
		}
	})
}

func TestTheStoreIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		body := []byte(strings.Repeat("a", MaxBody))
		for n := range 2 * maxRequests {
			pass(s, n, fmt.Sprintf("/p%d", n))
		}
		for n := range maxBytes/MaxBody + 50 {
			r := request(5000+n, "/big")
			s.Begin(r)
			r.End = Complete
			r.Status = http.StatusOK
			r.Received.Header = http.Header{"Content-Type": {"text/plain"}}
			s.End(Raw{
				Request:  r,
				Received: RawBody{Bytes: body},
			})
			synctest.Wait()
		}
		if n := len(s.Requests(Filter{})); n < 200 || n > maxBytes/MaxBody {
			t.Errorf("%d with big bodies are kept", n)
		}
		if n := len(s.Endpoints()); n != maxEndpoints+1 {
			t.Errorf("there are %d endpoints", n)
		}
		r := pass(s, 9999, "/spans")
		for n := range 20_000 {
			signal := Signal{
				Trace:  r.Trace,
				Span:   SpanID{1, byte(n), byte(n >> 8), byte(n >> 16)},
				Parent: r.Span,
				Query:  query(fmt.Sprintf("SELECT %d", n)),
			}
			if n%2 == 0 {
				signal.Trace[3] = byte(n) // of nobody
			}
			s.Signal(signal)
		}
		synctest.Wait()
		kept, _ := s.Request(r.ID)
		if len(kept.Queries) != maxSignals || kept.Dropped == 0 {
			t.Errorf("%d queries are kept, %d dropped", len(kept.Queries), kept.Dropped)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.joiner.waiting.count > maxWaiting || s.bytes > maxBytes {
			t.Errorf("%d signals wait; %d bytes", s.joiner.waiting.count, s.bytes)
		}
		for _, rec := range s.looks.ready {
			if rec.evicted && rec.request.Received.Body != nil {
				t.Fatal("a request that was evicted has its body still")
			}
		}
		size := int64(0)
		for _, rec := range s.order {
			size += rec.size
		}
		if size != s.bytes {
			t.Errorf("the requests take %d bytes, and %d are counted", size, s.bytes)
		}
	})
}

func TestMemoryIsFlat(t *testing.T) {
	s := start(t, Options{})
	body := []byte(strings.Repeat(`{"id":1,"name":"ann"},`, 200))
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	for n := range 50_000 {
		r := request(n, fmt.Sprintf("/a%d/b", n%3000))
		r.Sent.Header = http.Header{"Cookie": {strings.Repeat("c", 500)}}
		s.Begin(r)
		r.End = Complete
		raw := Raw{Request: r}
		if s.Bodies() {
			raw.Received.Bytes = append([]byte(nil), body...)
		}
		s.End(raw)
		if n%10 == 0 {
			s.Signal(Signal{Trace: TraceID{byte(n), byte(n >> 8), 9}, Query: query("SELECT 1")})
		}
	}
	if grown := int64(heap()) - int64(before); grown > 40<<20 {
		t.Errorf("the store takes %d MiB", grown>>20)
	}
}

// TestAnAppTellsBeforeItIsFound: what an app tells and is asked before it is known where it answers is of its first run.
func TestAnAppTellsBeforeItIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		tellStep(s, request(1, "/early"), SpanID{1})
		pass(s, 2, "/early")
		for want := range 3 {
			if n := s.AppStarted(); n != want+1 {
				t.Errorf("start %d is run %d", want+1, n)
			}
		}
	})
}
