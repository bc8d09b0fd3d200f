package capture

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// tellLine tells the store of a line that the app has printed.
func tellLine(s *Store, text string) {
	s.Signal(Signal{
		At: time.Now(),
		Log: &Log{
			At:   time.Now(),
			Text: text,
			From: "stdout",
		},
	})
}

// settled returns the settled look at the request.
func settled(t *testing.T, s *Store, id string) *Request {
	t.Helper()
	for {
		look := next(t, s)
		if look.Settled && look.Request.ID == id {
			return look.Request
		}
	}
}

// TestLinesBetweenTwoRequests: a line that comes after an answer, when the next request has begun, is of neither, and
// proves nothing of them.
func TestLinesBetweenTwoRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ReadsOutput: true})
		a := pass(s, 1, "/a")
		time.Sleep(PrintedFor / 2)
		b := request(2, "/b")
		s.Begin(b)
		tellLine(s, "of a")
		time.Sleep(time.Second)
		tellLine(s, "of b")
		answer(s, b, http.StatusOK)
		for _, r := range []Request{a, b} {
			got := settled(t, s, r.ID)
			if got.Evidence.Has(Logged) {
				t.Errorf("the logs of %s are taken for known", r.URL)
			}
		}
		kept, _ := s.Request(b.ID)
		if len(kept.Logs) != 1 || kept.Logs[0].Text != "of b" {
			t.Errorf("b has %+v", kept.Logs)
		}
		if unjoined := s.Unjoined(); len(unjoined) != 1 {
			t.Errorf("unjoined are %+v", unjoined)
		}
	})
}

// TestLinesAfterAnAnswer: that the logs of a request are known is known only when it may not print any more.
func TestLinesAfterAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ReadsOutput: true})
		r := pass(s, 1, "/a")
		ended := time.Now()
		if look := next(t, s); look.Settled {
			t.Error("the request is settled at once")
		}
		time.Sleep(PrintedFor / 2)
		tellLine(s, "of a, late")
		got := settled(t, s, r.ID)
		if took := time.Since(ended); took != PrintedFor || len(got.Logs) != 1 || !got.Evidence.Has(Logged) {
			t.Errorf("after %v it is %+v", took, got)
		}
		nothing(t, s, time.Minute)
		tellLine(s, "of nobody")
		if n := len(s.Unjoined()); n != 1 {
			t.Errorf("%d lines are unjoined", n)
		}
	})
}

// TestLinesBesideStreams: streams that are open for long do not hide whose the lines of other requests are, but prove
// nothing of their own.
func TestLinesBesideStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ReadsOutput: true})
		const streams = 5
		for n := range streams {
			s.Begin(request(n, "/stream"))
		}
		time.Sleep(shortRequest + time.Second)
		r := request(streams, "/a")
		s.Begin(r)
		tellLine(s, "of a")
		answer(s, r, http.StatusOK)
		if got := settled(t, s, r.ID); len(got.Logs) != 1 || !got.Evidence.Has(Logged) {
			t.Errorf("beside streams it is %+v", got)
		}
		alone := request(streams+1, "/stream")
		s.Begin(alone)
		time.Sleep(shortRequest + time.Second)
		tellLine(s, "of the stream or another one")
		answer(s, alone, http.StatusOK)
		if got := settled(t, s, alone.ID); len(got.Logs) != 0 || got.Evidence.Has(Logged) {
			t.Errorf("the stream is %+v", got)
		}
	})
}

// TestManyAtOnce: of many requests at once none proves what the app prints, whatever their number.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	for _, count := range []int{2, 3, 4, 5, 6, 50} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, Options{ReadsOutput: true})
			for n := range count {
				s.Begin(request(n, "/a"))
				time.Sleep(time.Millisecond)
			}
			for n := range count {
				answer(s, request(n, "/a"), http.StatusOK)
				time.Sleep(PrintedFor + time.Second)
			}
			tellLine(s, "late")
			for _, r := range s.Requests(Filter{}) {
				if r.Evidence.Has(Logged) || len(r.Logs) > 0 {
					t.Errorf("of %d at once %s has %+v", count, r.ID, r)
				}
			}
		})
	}
}

// TestLinesOfTelemetry: a line that comes by telemetry and does not say whose it is, is of nobody.
func TestLinesOfTelemetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		r := request(1, "/a")
		s.Begin(r)
		s.Signal(Signal{Log: &Log{Text: "of a batch of seconds ago", From: "otlp"}})
		answer(s, r, http.StatusOK)
		tellStep(s, r, SpanID{9})
		kept, _ := s.Request(r.ID)
		if len(kept.Logs) != 0 || kept.Evidence.Has(Logged) || len(s.Unjoined()) != 1 {
			t.Errorf("it is %+v", kept)
		}
	})
}

// TestOneTraceForAll: a client may send the same trace with each request. What the app tells finds them, however much
// it has told before.
func TestOneTraceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		const many = 300
		for n := range many {
			r := request(n, "/a")
			r.Trace = TraceID{7}
			s.Begin(r)
			answer(s, r, http.StatusOK)
			const steps = 20
			// The leaves first, as they end first.
			for depth := steps; depth >= 0; depth-- {
				signal := Signal{
					Trace:  r.Trace,
					Span:   SpanID{1, byte(depth), 6: byte(n), 5: byte(n >> 8)},
					Parent: SpanID{1, byte(depth - 1), 6: byte(n), 5: byte(n >> 8)},
					Query:  query("SELECT 1"),
				}
				if depth == 0 {
					signal.Parent = r.Span
				}
				s.Signal(signal)
			}
			time.Sleep(time.Second)
			kept, _ := s.Request(r.ID)
			if len(kept.Queries) != steps+1 {
				t.Fatalf("request %d has %d queries", n, len(kept.Queries))
			}
		}
	})
}
