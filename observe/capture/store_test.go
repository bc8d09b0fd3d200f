package capture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// start runs a store until the test ends.
func start(t *testing.T, o Options) *Store {
	t.Helper()
	s := NewStore(o)
	work(t, s)
	return s
}

func work(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// request returns a request of that number, with its own trace.
func request(n int, path string) Request {
	return Request{
		ID:      fmt.Sprintf("%016x", n),
		Trace:   TraceID{0: 1, 15: byte(n), 14: byte(n >> 8), 13: byte(n >> 16)},
		Span:    SpanID{0: 2, 7: byte(n), 6: byte(n >> 8), 5: byte(n >> 16)},
		Client:  "c",
		Method:  http.MethodGet,
		URL:     path,
		Started: time.Now(),
	}
}

// answer ends the request.
func answer(s *Store, r Request, status int) {
	r.Status = status
	r.End = Complete
	r.Took = time.Since(r.Started)
	r.Received.Header = http.Header{"Content-Type": {"application/json"}}
	body := []byte(`{"a":1}`)
	r.Received.Size = int64(len(body))
	s.End(Raw{
		Request:  r,
		Received: RawBody{Bytes: body},
	})
}

// pass begins and answers a request.
func pass(s *Store, n int, path string) Request {
	r := request(n, path)
	s.Begin(r)
	answer(s, r, http.StatusOK)
	return r
}

// next returns the next look.
func next(t *testing.T, s *Store) Look {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	look, err := s.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return look
}

// nothing fails if there is a look within the time.
func nothing(t *testing.T, s *Store, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	look, err := s.Next(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got a look at %s, settled %v", look.Request.ID, look.Settled)
	}
}

func query(text string) *Query {
	return &Query{
		At:   time.Now(),
		Text: text,
		Rows: -1,
	}
}

func TestWithoutTelemetryALookIsSettledAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		pass(s, 1, "/a")
		look := next(t, s)
		if !look.Settled || look.Request.Evidence != Response|Body || look.Request.Run != 1 {
			t.Errorf("got %+v of %+v", look, look.Request)
		}
		nothing(t, s, time.Minute)
	})
}

func TestALookIsSettledWhenTelemetryIsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		first := pass(s, 1, "/a")
		next(t, s)
		s.Signal(Signal{
			Trace:  first.Trace,
			Span:   SpanID{9},
			Parent: first.Span,
			Server: true,
		})
		if late := next(t, s); late.Settled || !late.Request.Evidence.Has(Traced) {
			t.Errorf("the late look is %+v", late)
		}

		second := pass(s, 2, "/a")
		if look := next(t, s); look.Settled || look.Request.Evidence.Has(Traced) {
			t.Errorf("the first look is %+v", look)
		}
		answered := time.Now()
		time.Sleep(time.Second)
		s.Signal(Signal{
			Trace:  second.Trace,
			Span:   SpanID{8},
			Parent: SpanID{7},
			Query:  query("SELECT 2"),
		})
		s.Signal(Signal{
			Trace:  second.Trace,
			Span:   SpanID{7},
			Parent: second.Span,
			Server: true,
		})
		look := next(t, s)
		if took := time.Since(answered); took != time.Second+quietFor {
			t.Errorf("it was settled after %v", took)
		}
		if !look.Settled || !look.Request.Evidence.Has(Traced|Queried) || len(look.Request.Queries) != 1 || look.Request.Queries[0].Shape != "select ?" {
			t.Errorf("the settled look is %+v of %+v", look, look.Request)
		}

		// Without its server step a request is settled in the end.
		pass(s, 3, "/a")
		next(t, s)
		answered = time.Now()
		if look := next(t, s); !look.Settled || time.Since(answered) != settleAt || look.Request.Evidence.Has(Traced) {
			t.Errorf("got %+v after %v", look, time.Since(answered))
		}
		time.Sleep(lateUntil)
		s.Signal(Signal{Request: second.ID, Query: query("SELECT 3")})
		nothing(t, s, time.Minute)
	})
}

func TestSignalsFindTheirRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		// Two requests of one trace, told of by their leaves first.
		a := request(1, "/a")
		b := request(2, "/b")
		b.Trace = a.Trace
		s.Signal(Signal{
			Trace:  a.Trace,
			Span:   SpanID{21},
			Parent: SpanID{20},
			Query:  query("SELECT 'early'"),
		})
		s.Signal(Signal{Request: "from an SDK", Query: query("SELECT 'sdk'")})
		s.Begin(a)
		s.Begin(b)
		leaf := Signal{
			Trace:  a.Trace,
			Span:   SpanID{11},
			Parent: SpanID{10},
			Query:  query("SELECT 'b'"),
		}
		s.Signal(leaf)
		s.Signal(Signal{
			Trace:  a.Trace,
			Span:   SpanID{10},
			Parent: b.Span,
			Server: true,
		})
		answer(s, a, http.StatusOK)
		answer(s, b, http.StatusOK)
		synctest.Wait()
		texts := func(id string) string {
			r, ok := s.Request(id)
			if !ok {
				t.Fatalf("%s is not kept", id)
			}
			var all []string
			for _, q := range r.Queries {
				all = append(all, q.Text)
			}
			return strings.Join(all, "; ")
		}
		if got := texts(b.ID); got != "SELECT 'b'" {
			t.Errorf("b has %q", got)
		}
		// What came before any request of the trace went to the first one.
		if got := texts(a.ID); got != "SELECT 'early'" {
			t.Errorf("a has %q", got)
		}
		sdk := request(3, "/c")
		sdk.ID = "from an SDK"
		sdk.Span = SpanID{}
		sdk.Trace = TraceID{}
		answer(s, sdk, http.StatusOK)
		if got := texts(sdk.ID); got != "SELECT 'sdk'" {
			t.Errorf("the SDK's request has %q", got)
		}
	})
}

func TestWhatTheAppPrintsGoesToTheOnlyRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ReadsOutput: true})
		printed := func(text string) {
			s.Signal(Signal{Log: &Log{Text: text, From: "stdout"}})
		}
		printed("starting, password=hunter22")
		a := request(1, "/a")
		s.Begin(a)
		printed("of a")
		answer(s, a, http.StatusOK)
		printed("of a, late")
		synctest.Wait()
		kept, _ := s.Request(a.ID)
		if len(kept.Logs) != 2 || kept.Logs[1].Text != "of a, late" || !kept.Evidence.Has(Logged) {
			t.Errorf("a has %+v", kept)
		}
		b := request(2, "/b")
		c := request(3, "/c")
		s.Begin(b)
		s.Begin(c)
		printed("of b or c")
		answer(s, b, http.StatusOK)
		answer(s, c, http.StatusOK)
		synctest.Wait()
		for _, r := range s.Requests(Filter{Limit: 2}) {
			if len(r.Logs) != 0 || r.Evidence.Has(Logged) {
				t.Errorf("%s has %+v", r.URL, r)
			}
		}
		unjoined := s.Unjoined()
		if len(unjoined) != 2 || unjoined[0].Log.Text != "of b or c" || unjoined[1].Log.Text != "starting, password=[masked:8]" {
			t.Errorf("unjoined are %+v", unjoined)
		}
	})
}

func TestCaptureThatFailsTurnsOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Options{})
		works := s.build
		s.build = func(Raw) Request { panic("bang") }
		work(t, s)
		for n := range maxFailures {
			if s.Off() {
				t.Fatalf("it is off after %d failures", n)
			}
			pass(s, n, "/a")
			synctest.Wait()
		}
		if !s.Off() || s.Bodies() {
			t.Error("it is on")
		}
		pass(s, 100, "/a")
		if n := s.Endpoints()[0].Total.Requests; n != maxFailures {
			t.Errorf("%d are counted", n)
		}
		s.build = works
		time.Sleep(offFor)
		pass(s, 101, "/b")
		if look := next(t, s); look.Request.URL != "/b" {
			t.Errorf("got %+v", look.Request)
		}
	})
}

func TestBodiesAreSampled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Options{})
		kept := 0
		for range 10_000 {
			if s.Bodies() {
				kept++
			}
			time.Sleep(time.Millisecond)
		}
		if kept < 10*bodiesPerSecond || kept > 11*bodiesPerSecond {
			t.Errorf("of 1,000 a second %d are kept in 10 s", kept)
		}
		time.Sleep(time.Second)
		for n := range bodiesPerSecond {
			if !s.Bodies() {
				t.Fatalf("at 300 a second number %d is not kept", n)
			}
			time.Sleep(time.Second / bodiesPerSecond)
		}
	})
}

func TestAnSDKTellsOfARequestThatHasPassed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		r := pass(s, 1, "/a")
		own := r
		own.Span = SpanID{}
		own.Trace = TraceID{}
		own.Status = http.StatusTeapot
		own.End = Complete
		s.End(Raw{Request: own})
		synctest.Wait()
		kept, _ := s.Request(r.ID)
		if kept.Status != http.StatusOK || !kept.Evidence.Has(Traced) || s.Endpoints()[0].Total.Requests != 1 {
			t.Errorf("kept is %+v", kept)
		}
	})
}

// TestAnSDKTellsLate: a request that has passed counts once, also when an SDK tells of it after it was forgotten.
func TestAnSDKTellsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		for n := range maxRequests + 500 {
			pass(s, n, "/a")
			synctest.Wait()
		}
		tell := func(n int) {
			own := request(n, "/a")
			own.Span = SpanID{}
			own.Trace = TraceID{}
			own.Status = http.StatusOK
			own.End = Complete
			s.End(Raw{Request: own})
		}
		for n := range maxRequests + 500 {
			tell(n)
		}
		if n := s.Endpoints()[0].Total.Requests; n < maxRequests+500 || n > maxRequests+560 { // few share a place: 8 are expected
			t.Errorf("%d are counted", n)
		}
		s.Clear()
		tell(maxRequests + 499)
		if all := s.Endpoints(); len(all) != 0 {
			t.Errorf("after all was forgotten there is %+v", all)
		}
	})
}

// TestSomebodyTriesOutPaths: requests for which there is no route are of one endpoint. That of a route keeps those that
// are answered so.
func TestSomebodyTriesOutPaths(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		pass(s, 1, "/users/1")
		for n := range 2 * maxEndpoints {
			r := request(n+2, fmt.Sprintf("/try-%c%c%c", 'a'+n%26, 'a'+n/26%26, 'a'+n/26/26))
			s.Begin(r)
			s.Signal(Signal{Request: r.ID, Query: query("SELECT 1")})
			answer(s, r, http.StatusNotFound)
			synctest.Wait()
		}
		missing := request(5000, "/users/2")
		s.Begin(missing)
		answer(s, missing, http.StatusNotFound)
		synctest.Wait()
		var names []string
		for _, e := range s.Endpoints() {
			names = append(names, e.Endpoint)
		}
		if want := []string{"GET (not found)", "GET /users/:id"}; !slices.Equal(names, want) {
			t.Fatalf("the endpoints are %q, want %q", names, want)
		}
		tried := s.Endpoints()[0].Total
		if tried.Requests != 2*maxEndpoints || tried.QueriesPerRequest() != 1 {
			t.Errorf("of them is known %+v", tried)
		}
		for _, r := range s.Requests(Filter{}) {
			want := "GET (not found)"
			if r.ID == missing.ID {
				want = "GET /users/:id"
			}
			if r.Endpoint != want {
				t.Fatalf("%s is of %q, want %q", r.URL, r.Endpoint, want)
			}
		}
	})
}

func TestSignalsAreInOrder(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{})
	r := request(1, "/a")
	s.Begin(r)
	begun := time.Now()
	for _, after := range []time.Duration{3, 1, 2} {
		q := query(fmt.Sprintf("SELECT * FROM t%d", after))
		q.At = begun.Add(after)
		s.Signal(Signal{Request: r.ID, Query: q})
	}
	kept, _ := s.Request(r.ID)
	tables := make([]string, 0, len(kept.Queries))
	for _, q := range kept.Queries {
		tables = append(tables, q.Table)
	}
	if !slices.Equal(tables, []string{"t1", "t2", "t3"}) || kept.End != Pending {
		t.Errorf("got %v of %+v", tables, kept)
	}
}
