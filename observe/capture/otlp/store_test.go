package otlp

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/observe/capture"
)

// TestStore: the store joins spans with the request that passed the proxy, whether they come before
// its end or a minute later, and keeps no secret of theirs.
func TestStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := capture.NewStore(capture.Options{})
		go store.Run(t.Context()) // ends with the test
		receiver := NewReceiver(store)
		tell := func(s testSpan) {
			t.Helper()
			header := map[string]string{"Content-Type": mediaProtobuf}
			w := post(t, receiver, "/v1/traces", header, tracesIn(t, s)[mediaProtobuf])
			if w.Code != http.StatusOK {
				t.Fatalf("%d %q", w.Code, w.Body)
			}
		}
		request := capture.Request{
			ID:      "r1",
			Trace:   capture.TraceID([]byte(bytesOf(traceHex))),
			Span:    capture.SpanID([]byte(bytesOf(parentHex))),
			Method:  "GET",
			URL:     "/users/7",
			Started: time.Now(),
			Status:  200,
			End:     capture.Complete,
		}
		store.Begin(request)
		query := spanOf(kindClient, object{"db.system": "postgresql", "db.statement": "SELECT * FROM users WHERE password = 'hunter22'"})
		query.id, query.parent = "0000000000000001", spanHex
		tell(query)
		store.End(capture.Raw{Request: request})
		synctest.Wait()
		tell(spanOf(kindServer, object{"http.request.method": "GET"}))
		time.Sleep(time.Minute)
		fetch := spanOf(kindClient, object{"http.method": "GET", "http.url": "http://x/?token=hunter22"})
		fetch.id, fetch.parent = "0000000000000002", spanHex
		tell(fetch)
		synctest.Wait()
		r, ok := store.Request("r1")
		if !ok || len(r.Queries) != 1 || len(r.Fetches) != 1 || !r.Evidence.Has(capture.Traced|capture.Queried) {
			t.Fatalf("the request is %+v", r)
		}
		if told := r.Queries[0].Text + r.Fetches[0].URL; strings.Contains(told, "hunter22") {
			t.Errorf("a secret is kept: %s", told)
		}
		if r.Queries[0].Table != "users" {
			t.Errorf("the query is %+v", r.Queries[0])
		}
	})
}
