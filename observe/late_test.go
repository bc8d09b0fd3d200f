package observe

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/analysis"
	"bareclaw/observe/capture"
	"bareclaw/observe/capture/otlp"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// TestEarlyAndLateSpans: queries of which an app tells a minute before their request is known, or a minute after it has ended,
// are found as those of the request; three minutes later they are not.
func TestEarlyAndLateSpans(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{
		"a minute before":     -time.Minute,
		"a minute after":      time.Minute,
		"three minutes after": 3 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			log := slog.New(slog.DiscardHandler)
			found, err := findings.OpenStore(filepath.Join(dir, ".brakit"), storeFile(t, dir), log)
			check.OK(t, err)
			history, err := findings.OpenHistory(filepath.Join(dir, ".brakit"), found, log)
			check.OK(t, err)
			store := capture.NewStore(capture.Options{})
			analyst := analysis.New(analysis.Options{
				Source:   store,
				Findings: found,
				History:  history,
				Rules:    rules.All(),
				Log:      log,
			})
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { store.Run(ctx) })
			running.Go(func() { _ = analyst.Run(ctx) }) // an error means that ctx has ended
			defer running.Wait()
			defer cancel()

			request := capture.Request{
				ID:     "r1",
				Trace:  capture.TraceID{1},
				Span:   capture.SpanID{2},
				Client: "browser",
				Method: http.MethodGet,
				URL:    "/items",
			}
			receiver := otlp.NewReceiver(store)
			tell := func() {
				var spans []string
				for n := range 8 {
					spans = append(spans, fmt.Sprintf(`{"traceId":"%s","spanId":"%016x","parentSpanId":"%s","kind":3,"attributes":[
						{"key":"db.system","value":{"stringValue":"postgresql"}},
						{"key":"db.statement","value":{"stringValue":"SELECT name FROM items WHERE id = %d"}}]}`, request.Trace, n+16, request.Span, n))
				}
				body := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}]}]}`
				r := httptest.NewRequest(http.MethodPost, "/v1/traces", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				receiver.ServeHTTP(w, r)
				if w.Code != http.StatusOK || w.Body.String() != "{}" {
					t.Errorf("%s: %d %s", name, w.Code, w.Body)
				}
			}
			if after < 0 {
				tell()
				time.Sleep(-after)
			}
			request.Started = time.Now()
			store.Begin(request)
			request.Status = http.StatusOK
			request.End = capture.Complete
			store.End(capture.Raw{Request: request})
			if after > 0 {
				time.Sleep(after)
				tell()
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			n1 := 0
			for _, f := range found.All() {
				if f.Rule == "n1" && f.Endpoint == "GET /items" && f.Occurrences == 1 {
					n1++
				}
			}
			want := 1
			if after > 2*time.Minute {
				want = 0
			}
			if n1 != want {
				t.Errorf("%s: found are %+v", name, found.All())
			}
		})
	}
}
