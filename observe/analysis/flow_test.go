package analysis

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/observe/capture"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// webApp is an app behind an observer, which tells its queries.
type webApp struct {
	observer *observer
	capture  *capture.Store
	queries  int // a request
	requests int
}

// visit requests a page, waits until all is known of it, and returns its id.
func (w *webApp) visit() string {
	w.requests++
	id := fmt.Sprintf("%016x", w.requests)
	trace := capture.TraceID{byte(w.requests)}
	r := capture.Request{
		ID:      id,
		Trace:   trace,
		Span:    capture.SpanID{1},
		Client:  "browser",
		Method:  "GET",
		URL:     "/items",
		Started: time.Now(),
	}
	w.capture.Begin(r)
	r.Took = 20 * time.Millisecond
	r.Status = 200
	r.End = capture.Complete
	w.capture.End(capture.Raw{Request: r})
	for i := range w.queries {
		w.capture.Signal(capture.Signal{
			Trace: trace,
			Span:  capture.SpanID{2, byte(i)},
			At:    time.Now(),
			Query: &capture.Query{
				Text:        fmt.Sprintf("SELECT name FROM items WHERE id = %d", i),
				System:      "postgresql",
				ValuesKnown: true,
				Rows:        -1,
			},
		})
	}
	w.capture.Signal(capture.Signal{
		Trace:  trace,
		Span:   capture.SpanID{3},
		Parent: r.Span,
		Server: true,
		At:     time.Now(),
	})
	time.Sleep(time.Minute)
	synctest.Wait()
	return id
}

// TestFromCaptureToFindings: a request with a query for each item is found by its telemetry, fixed, resolved
// by other requests, and comes back.
func TestFromCaptureToFindings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newObserver(t, rules.All()...)
		w := &webApp{
			observer: o,
			capture:  capture.NewStore(capture.Options{}),
			queries:  8,
		}
		o.analyst.options.Source = w.capture
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.capture.Run(ctx)
		go func() { _ = o.analyst.Run(ctx) }()
		n1 := func() findings.Finding {
			t.Helper()
			all := o.store.All()
			i := slices.IndexFunc(all, func(f findings.Finding) bool { return f.Rule == "n1" })
			if i < 0 {
				t.Fatalf("found are %+v", all)
			}
			return all[i]
		}
		first := w.visit()
		w.queries = 7
		second := w.visit()
		f := n1()
		if f.Endpoint != "GET /items" || f.Occurrences != 2 || !slices.Equal(f.Requests, []string{first, second}) {
			t.Errorf("found is %+v", f)
		}
		_, err := o.store.Report(f.ID, findings.Fixed, "joined")
		if err != nil {
			t.Fatal(err)
		}
		w.queries = 1
		for range findings.CleanHitsForResolution {
			if f := n1(); f.State != findings.Fixing {
				t.Errorf("too early: %+v", f)
			}
			w.visit()
		}
		if f := n1(); f.State != findings.Resolved {
			t.Errorf("not resolved: %+v", f)
		}
		w.queries = 8
		w.visit()
		if f := n1(); f.State != findings.Open || !f.Regressed || f.Occurrences != 3 {
			t.Errorf("not reopened: %+v", f)
		}
		if panics := o.analyst.Panics(); len(panics) > 0 {
			t.Errorf("rules panicked: %v", panics)
		}
	})
}
