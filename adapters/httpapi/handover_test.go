package httpapi

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
)

// TestForwardedRequestKeepsItsMethod hands a held POST over: for the successor the request is
// a GET for the outcome, and for the client, the log and the metrics a POST.
func TestForwardedRequestKeepsItsMethod(t *testing.T) {
	r := startRig(t, nil)
	successor := New(r.options(io.Discard))
	inner := r.listen("unix", filepath.Join(filepath.Dir(r.socket), "inner.sock"), successor.ServeInner).String()
	t.Cleanup(func() { _ = successor.Shutdown(r.Context(), ShuttingDown) })
	next := r.watch(t, "http")
	held := make(chan answer, 1)
	go func() { held <- r.send("POST", "/message", `{"text":"hold a"}`) }()
	next(core.UpdateStarted)
	r.server.HandOver()
	r.server.Forward(inner, inner)
	r.agent.release(t, "a", core.Result{Text: "done"})
	if a := <-held; a.status != http.StatusOK || a.field(t, "text") != "done" {
		t.Errorf("got %d %s", a.status, a.body)
	}
	r.log.await("http request", 1)
	var m metrics.Writer
	r.server.requests.WriteTo(&m)
	for of, text := range map[string]string{
		`method=POST route=/message status=200`:                                                       r.log.String(),
		`bareclaw_http_request_duration_seconds_count{method="POST",route="/message",status="200"} 1`: m.String(),
	} {
		if !strings.Contains(text, of) {
			t.Errorf("no %s in\n%s", of, text)
		}
	}
}
