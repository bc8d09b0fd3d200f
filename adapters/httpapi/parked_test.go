package httpapi

import (
	"net/http"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/lanes"
)

// TestParked holds what those are told who wait on a channel that is parked, here because
// the day's budget is spent.
func TestParked(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, func(o *lanes.Options) { o.DailyBudget = 0.01 }, nil)
	check := func(a answer) {
		t.Helper()
		r.want(a, http.StatusAccepted, "")
		until, err := time.Parse(time.RFC3339Nano, a.field(t, "until").(string))
		if err != nil || time.Until(until) > 24*time.Hour || time.Until(until) > 10*time.Minute && a.header.Get("Retry-After") != "300" {
			t.Errorf("got %v %s", a.header, a.body)
		}
		if why, _ := a.field(t, "why").(string); a.field(t, "state") != "waiting" || why == "" || a.header.Get("Location") != "/messages/"+a.field(t, "message_id").(string) {
			t.Errorf("got %v %s", a.header, a.body)
		}
	}
	r.occupy("http")
	next := r.watch(t, "http")
	held := make(chan answer, 1)
	go func() { held <- r.send("POST", "/message", `{"text":"a"}`) }()
	path := messagePath(next(core.UpdateAccepted).Message.ID)
	polled := make(chan answer, 1)
	go func() { polled <- r.send("GET", path+"?wait=5m", "") }()
	r.agent.release(t, "http", core.Result{Text: "done"})
	check(<-held)
	check(r.send("POST", "/message", `{"text":"b"}`))
	check(r.send("POST", "/message", `{"text":"c"}`, "Idempotency-Key", "k"))
	check(r.send("POST", "/message", `{"text":"c"}`, "Idempotency-Key", "k"))
	check(r.send("POST", "/message", `{"text":"d"}`, "Prefer", "respond-async"))
	if a := r.send("GET", path+"?wait=5m&until=parked", ""); a.status != http.StatusOK || a.field(t, "until") == nil || a.header.Get("Retry-After") == "" {
		t.Errorf("asked for: %d %v %s", a.status, a.header, a.body)
	}
	r.want(r.send("GET", path+"?wait=5m&until=later", ""), http.StatusBadRequest, "bad_wait")
	if len(polled) > 0 {
		t.Error("a client that waits for the outcome was answered")
	}
	r.want(r.send("DELETE", path, ""), http.StatusOK, "")
	if a := <-polled; a.field(t, "state") != "cancelled" {
		t.Errorf("polled: %s", a.body)
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
