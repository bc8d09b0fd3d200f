package capture

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestCallsOfItself: the step of a call of the app to itself, in the middle of a request, is not the end of the request.
func TestCallsOfItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		tellStep(s, pass(s, 1, "/a"), SpanID{9})
		synctest.Wait()
		next(t, s)
		next(t, s)
		r := pass(s, 2, "/b")
		synctest.Wait()
		next(t, s)
		inner := Signal{Trace: r.Trace, Span: SpanID{8}, Parent: SpanID{7}, Server: true}
		s.Signal(inner)
		nothing(t, s, time.Second)
		tellStep(s, r, SpanID{6})
		if look := next(t, s); !look.Settled {
			t.Error("the request is not settled by its own step")
		}
	})
}

// tellStep tells of the app's own step for a request.
func tellStep(s *Store, r Request, span SpanID) {
	s.Signal(Signal{Trace: r.Trace, Span: span, Parent: r.Span, Server: true})
}

// TestSDKsSettle: an SDK does not tell of the end of a request that has passed the proxy. The request is settled a
// second after what the SDK told last.
func TestSDKsSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		r := request(1, "/a")
		s.Begin(r)
		s.Signal(Signal{Request: r.ID, Query: &Query{Text: "SELECT 1"}})
		answer(s, r, http.StatusOK)
		ended := time.Now()
		synctest.Wait()
		if look := next(t, s); look.Settled {
			t.Error("the request is settled at once")
		}
		if look := next(t, s); !look.Settled || time.Since(ended) != quietForSDK {
			t.Errorf("settled: %t, after %s", look.Settled, time.Since(ended))
		}
	})
}

// TestFaultOnSeveralSteps: an error that is told of by each step that it passes is one.
func TestFaultOnSeveralSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		r := request(1, "/a")
		s.Begin(r)
		for _, f := range []Fault{
			{Name: "TypeError", Message: "x is undefined"},
			{Name: "TypeError", Message: "x is undefined", Stack: "at a.js:1:1"},
			{Name: "TypeError", Message: "y is undefined"},
		} {
			s.Signal(Signal{Trace: r.Trace, Span: SpanID{5}, Parent: r.Span, Fault: &f})
		}
		kept, _ := s.Request(r.ID)
		if len(kept.Faults) != 2 || kept.Faults[0].Stack == "" {
			t.Errorf("the faults are %+v", kept.Faults)
		}
	})
}

// TestColors: what gives colors to a terminal is no part of a line.
func TestColors(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[32mready\x1b[39m in \x1b[1;33m3 ms\x1b[0m": "ready in 3 ms",
		"\x1b[":                                 "",
		"plain":                                 "plain",
		"password=\x1b[31mcorrect-horse\x1b[0m": "password=[masked:13]",
	} {
		signal := period{}.prepare(Signal{Log: &Log{Text: text}})
		if signal.Log.Text != want {
			t.Errorf("%q becomes %q", text, signal.Log.Text)
		}
	}
}

// TestNoValues: what programs write for no value, and say of one, is no secret.
func TestNoValues(t *testing.T) {
	for _, text := range []string{"token: undefined", `{"password": null}`, "password: required", "password: Invalid!", "secret = none"} {
		if got := MaskText(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestIsComplete: a query has all its values if it reads and has no placeholder.
func TestIsComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT a FROM b":                      true,
		"SELECT a FROM b WHERE c = 7":          true,
		"with x as (select 1) select * from x": true,
		"SELECT a FROM b WHERE c = $1":         false,
		"SELECT a FROM b WHERE c = ?":          false,
		"SELECT a FROM b WHERE c = :name":      false,
		"SELECT a FROM b WHERE c = %(name)s":   false,
		"SELECT a::text FROM b":                true,
		"UPDATE b SET a = 1":                   false,
		"GET key":                              false,
		strings.Repeat("SELECT a ", MaxText):   false,
	} {
		if IsComplete(text) != want {
			t.Errorf("%.60q: %t", text, !want)
		}
	}
}

// TestAsked: what a request asked for is known if nothing is hidden.
func TestAsked(t *testing.T) {
	plain := Request{Method: http.MethodPost, URL: "/a", Sent: Message{Body: []byte("x"), Size: 1}}
	same := plain
	other := plain
	other.Sent.Body = []byte("y")
	hidden := plain
	hidden.Sent.Body = []byte("password=" + Mask(1))
	cut := plain
	cut.Sent.Cut = true
	if plain.Asked() == "" || plain.Asked() != same.Asked() || plain.Asked() == other.Asked() {
		t.Error("the same and others are not told apart")
	}
	if hidden.Asked() != "" || cut.Asked() != "" {
		t.Error("it is taken for known what was hidden or cut")
	}
}
