package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"bareclaw/core"
)

// TestDrain holds what becomes of everything that is held when the gateway ends.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, reason := range []Reason{Restarting, ShuttingDown} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, newFake(t), nil)
			held := make(chan answer, 1)
			go func() { held <- r.send("POST", "/message", `{"text":"a"}`) }()
			eventually(t, "the wait is held", func() bool { return len(r.submissions()) == 1 })
			first := r.submissions()[0].ID
			polled := make(chan answer, 1)
			go func() { polled <- r.send("GET", "/messages/"+string(first)+"?wait=5m", "") }()
			_, own := r.events(r.request("POST", "/message", `{"text":"b"}`, "Accept", "text/event-stream"))
			_, channel := r.events(r.request("GET", "/channels/http/events", ""))
			own()
			eventually(t, "it is subscribed", func() bool { return r.listeners("http") == 2 })

			r.server.Drain(reason)
			r.server.Drain("another")

			a := <-held
			r.want(a, http.StatusAccepted, "")
			if a.header.Get("Location") != "/messages/"+string(first) || a.header.Get("Retry-After") != "1" || a.field(t, "state") != "waiting" {
				t.Errorf("held: %v %s", a.header, a.body)
			}
			if a := <-polled; a.status != http.StatusOK || a.field(t, "state") != "waiting" {
				t.Errorf("polled: %d %s", a.status, a.body)
			}
			if e := own(); e.name != string(reason) || !strings.Contains(e.data, `"location":"/messages/`) {
				t.Errorf("own stream: %v", e)
			}
			if e := channel(); e.name != string(reason) || strings.Contains(e.data, "location") {
				t.Errorf("channel stream: %v", e)
			}
			if e := channel(); e.name != "" {
				t.Errorf("after the last event: %v", e)
			}
			r.want(r.send("POST", "/message", `{"text":"c"}`), http.StatusServiceUnavailable, "shutting_down")
			r.want(r.send("POST", "/restart", ""), http.StatusServiceUnavailable, "shutting_down")
			if a := r.send("GET", "/health", ""); a.field(t, "status") != "draining" || a.field(t, "ready") != false {
				t.Errorf("health: %s", a.body)
			}
		})
	}
}

// TestDrainPrefersTheOutcome settles the message first: then that is the answer.
func TestDrainPrefersTheOutcome(t *testing.T) {
	t.Parallel()
	for range 3 {
		f := newFake(t)
		r := newRig(t, f, nil)
		f.reply = func(m *core.Message) {
			settle(m, core.Reply{State: core.Answered, Text: "in time"})
			r.server.Drain(Restarting)
		}
		if a := r.send("POST", "/message", `{"text":"a"}`); a.status != http.StatusOK || a.field(t, "text") != "in time" {
			t.Errorf("got %d %s", a.status, a.body)
		}
	}
}

func TestServeReportsItsListener(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	l := &brokenListener{}
	if err := r.server.Serve(l); err == nil || !strings.Contains(err.Error(), "serve http on 192.0.2.1:1") {
		t.Errorf("got %v", err)
	}
}
