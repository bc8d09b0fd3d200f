package httpapi

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// TestDrain holds what becomes of everything that is held when the gateway ends.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, reason := range []Reason{Restarting, ShuttingDown} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			next := r.watch(t, "http")
			held := make(chan answer, 1)
			go func() { held <- r.send("POST", "/message", `{"text":"hold http"}`) }()
			first := string(next(core.UpdateAccepted).Message.ID)
			polled := make(chan answer, 1)
			go func() { polled <- r.send("GET", "/messages/"+first+"?wait=5m", "") }()
			_, own := r.events(r.request("POST", "/message", `{"text":"b"}`, "Accept", "text/event-stream"))
			_, channel := r.events(r.request("GET", "/channels/http/events", ""))

			r.server.Drain(reason)
			r.server.Drain("another")

			a := <-held
			r.want(a, http.StatusAccepted, "")
			if a.header.Get("Location") != "/messages/"+first || a.header.Get("Retry-After") != "1" {
				t.Errorf("held: %v %s", a.header, a.body)
			}
			if a := <-polled; a.status != http.StatusOK || a.field(t, "text") != nil {
				t.Errorf("polled: %d %s", a.status, a.body)
			}
			if e := last(own); e.name != string(reason) || !strings.Contains(e.data, `"location":"/messages/`) {
				t.Errorf("own stream: %v", e)
			}
			if e := last(channel); e.name != string(reason) || strings.Contains(e.data, "location") || !strings.Contains(e.data, `"events":"/channels/http/events"`) {
				t.Errorf("channel stream: %v", e)
			}
			r.want(r.send("POST", "/message", `{"text":"c"}`), http.StatusServiceUnavailable, "shutting_down")
			r.want(r.send("POST", "/restart", ""), http.StatusServiceUnavailable, "shutting_down")
			if a := r.send("GET", "/health", ""); a.field(t, "status") != "draining" || a.field(t, "ready") != false {
				t.Errorf("health: %s", a.body)
			}
		})
	}
}

// TestDrainEndsStreamsOfMCP holds that streams without an end last as long as the server, and that
// a call may end.
func TestDrainEndsStreamsOfMCP(t *testing.T) {
	t.Parallel()
	ends := make(chan struct{})
	r := newRig(t, func(o *Options) {
		o.Mounts[0].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				_, _ = w.Write([]byte("cut"))
			case <-ends:
				_, _ = w.Write([]byte("done"))
			}
		})
	})
	begin := func(method, body string, headers ...string) (end func() string) {
		resp, err := r.client.Do(r.request(method, "/mcp", body, headers...))
		check.OK(t, err)
		return func() string {
			defer func() { _ = resp.Body.Close() }()
			b, err := io.ReadAll(resp.Body)
			check.OK(t, err)
			return string(b)
		}
	}
	stream, listen, call := begin("GET", ""), begin("POST", "{}", "Mcp-Method", "subscriptions/listen"), begin("POST", "{}", "Mcp-Method", "tools/call")
	r.server.Drain(Restarting)
	for name, end := range map[string]func() string{"stream": stream, "subscription": listen} {
		if got := end(); got != "cut" {
			t.Errorf("%s: %q", name, got)
		}
	}
	close(ends)
	if got := call(); got != "done" {
		t.Errorf("call: %q", got)
	}
}

// last returns the last event of a stream that ends.
func last(next func() event) (e event) {
	for {
		then := next()
		if then == (event{}) {
			return e
		}
		e = then
	}
}

func TestServeReportsItsListener(t *testing.T) {
	r := startRig(t, nil)
	l := &brokenListener{}
	if err := r.server.Serve(l); err == nil || !strings.Contains(err.Error(), "serve http on 192.0.2.1:1") {
		t.Errorf("got %v", err)
	}
}
