package httpapi

import (
	"net/http"
	"testing"
	"time"

	"bareclaw/core"
)

// TestParked holds what those are told who wait on a channel that is parked.
func TestParked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := newRig(t, f, nil)
	until := time.Now().Add(time.Hour)
	check := func(a answer, retry string) {
		t.Helper()
		r.want(a, http.StatusAccepted, "")
		if a.header.Get("Retry-After") != retry || a.field(t, "state") != "waiting" || a.field(t, "why") != "No money." || a.field(t, "until") != stamp(until) ||
			a.header.Get("Location") != "/messages/"+a.field(t, "message_id").(string) {
			t.Errorf("got %v %s", a.header, a.body)
		}
	}
	held := make(chan answer, 1)
	go func() { held <- r.send("POST", "/message", `{"text":"a"}`) }()
	eventually(t, "the wait is held", func() bool { return len(r.submissions()) == 1 })
	path := "/messages/" + string(r.submissions()[0].ID)
	polled := make(chan answer, 1)
	go func() { polled <- r.send("GET", path+"?wait=5m", "") }()
	f.park(core.QueuePosition{Position: 1, Why: "No money.", Until: until})
	check(<-held, "300")
	check(r.send("POST", "/message", `{"text":"b"}`), "300")
	check(r.send("POST", "/message", `{"text":"c"}`, "Idempotency-Key", "k"), "300")
	check(r.send("POST", "/message", `{"text":"c"}`, "Idempotency-Key", "k"), "300")
	check(r.send("POST", "/message", `{"text":"d"}`, "Prefer", "respond-async"), "300")
	if a := r.send("GET", path+"?wait=5m&until=parked", ""); a.status != http.StatusOK || a.field(t, "until") != stamp(until) || a.header.Get("Retry-After") != "300" {
		t.Errorf("asked for: %d %v %s", a.status, a.header, a.body)
	}
	r.want(r.send("GET", path+"?wait=5m&until=later", ""), http.StatusBadRequest, "bad_wait")
	if len(polled) > 0 {
		t.Error("a client that waits for the outcome was answered")
	}
	f.settle(r.submissions()[0].ID, core.Reply{State: core.Answered, Text: "ok"})
	if a := <-polled; a.field(t, "text") != "ok" {
		t.Errorf("polled: %s", a.body)
	}
}

// TestParkedPrefersTheOutcome settles the message as well: then that is the answer.
func TestParkedPrefersTheOutcome(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := newRig(t, f.echo(), nil)
	f.park(core.QueuePosition{Position: 1, Why: "No money.", Until: time.Now().Add(time.Hour)})
	for range 5 {
		if a := r.send("POST", "/message", `{"text":"a"}`); a.status != http.StatusOK || a.field(t, "text") != "a" {
			t.Errorf("got %d %s", a.status, a.body)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{-time.Hour: "1", 0: "1", 90 * time.Second: "90", time.Hour: "300"} {
		if got := retryAfter(time.Now().Add(after)); got != want {
			t.Errorf("after %s: %s, want %s", after, got, want)
		}
	}
	if got := retryAfter(time.Time{}); got != "1" {
		t.Errorf("for a moment that is not known: %s", got)
	}
}
