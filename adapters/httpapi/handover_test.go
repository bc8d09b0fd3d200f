package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// succeed starts a server that takes over, and returns its socket.
func (r *rig) succeed(o Options) (inner string) {
	r.Helper()
	successor := New(o)
	inner = r.listen("unix", filepath.Join(filepath.Dir(r.socket), "inner.sock"), successor.ServeInner).String()
	r.Cleanup(func() { check.OK(r, successor.Shutdown(context.WithoutCancel(r.Context()), ShuttingDown)) })
	return inner
}

// TestForwardedRequestKeepsItsMethod hands a held POST over: for the successor the request is
// a GET for the outcome, and for the client, the log and the metrics a POST.
func TestForwardedRequestKeepsItsMethod(t *testing.T) {
	r := startRig(t, nil)
	inner := r.succeed(r.options(io.Discard))
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
	counts, err := metrics.Text(metrics.NewRegistry(r.server.requests))
	if err != nil {
		t.Fatal(err)
	}
	for of, text := range map[string]string{
		`method=POST route=/message status=200`:                                                       r.log.String(),
		`bareclaw_http_request_duration_seconds_count{method="POST",route="/message",status="200"} 1`: string(counts),
	} {
		if !strings.Contains(text, of) {
			t.Errorf("no %s in\n%s", of, text)
		}
	}
}

// TestStreamsOfMCPAreNotForwarded: a forwarded stream would keep this process as long as its client.
func TestStreamsOfMCPAreNotForwarded(t *testing.T) {
	r := startRig(t, nil)
	o := r.options(io.Discard)
	forever := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	o.Mounts[0].Handler = forever
	o.Mounts[2].Handler = forever
	inner := r.succeed(o)
	paths := []string{"/mcp", "/mcp/bags/browser"}
	clients := map[string]*http.Client{}
	for _, path := range paths {
		clients[path] = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
		t.Cleanup(clients[path].CloseIdleConnections)
		r.do(clients[path], r.request("GET", "/health", "")) // keeps a connection
	}
	r.server.HandOver()
	r.server.Forward(inner, inner)
	for _, path := range paths {
		if a := r.do(clients[path], r.request("GET", path, "")); a.status != http.StatusOK || a.body != "" || a.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: got %d %s", path, a.status, a.body)
		}
	}
}

// TestForwardedRequestKeepsItsBody hands a request over whose large body is still arriving: the
// successor makes the change.
func TestForwardedRequestKeepsItsBody(t *testing.T) {
	const limit = 16 << 20
	r := startRig(t, func(o *Options) { o.BodyLimit = limit })
	other := newGateway(t, nil)
	o := other.options(io.Discard)
	o.BodyLimit = limit
	inner := r.succeed(o)
	body, client := io.Pipe()
	req := r.request("PATCH", "/channels/http", "")
	req.Body = body
	req.Header.Set("Content-Type", "application/json")
	changed := make(chan answer, 1)
	go func() { changed <- r.do(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, req) }()
	// More than the buffers of a connection hold: the server has begun to read.
	_, err := io.WriteString(client, `{"unknown":"`+strings.Repeat("x", limit/2))
	check.OK(t, err)
	r.server.HandOver()
	r.ledger.fail(core.ErrClosed) // as after the hand-over
	r.server.Forward(inner, inner)
	_, err = io.WriteString(client, `","model":"opus"}`)
	check.OK(t, errors.Join(err, client.Close()))
	if a := <-changed; a.status != http.StatusOK || a.field(t, "model") != "opus" {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if model := other.ChannelSettings.Settings("http").Model; model != "opus" {
		t.Errorf("the model at the successor is %q", model)
	}
}
