package main

import (
	"fmt"
	"testing"
)

// TestHealthListsWhatIsGoingOn shows channels by state, hosts and the ledger's
// account, and the whole way of a message in its trace.
func TestHealthListsWhatIsGoingOn(t *testing.T) {
	t.Parallel()
	g := newMachine(t, "BARECLAW_MAX_SESSIONS=7").start()
	g.say("ready", "echo here")
	running, finish := g.occupy("busy")
	waiting := g.tell("busy", "echo later")
	g.queued("busy", 1)
	g.eventually("the first outcome is in the ledger", func() bool { return g.metrics()[`bareclaw_messages_total{outcome="answered"}`] == 1 })

	h := g.must("GET", "/health", nil, 200)
	channels := h.json["channels"].(map[string]any)
	if got := fmt.Sprint(channels["states"]); got != "map[ending:0 idle:0 parked:0 ready:1 running:1 starting:0 waiting:0]" {
		t.Errorf("states are %s", got)
	}
	active := channels["active"].([]any)
	busy, ready := active[0].(map[string]any), active[1].(map[string]any)
	if len(active) != 2 || busy["channel"] != "busy" || busy["running"] != 1.0 || busy["waiting"] != 1.0 || busy["since"] == nil || ready["state"] != "ready" {
		t.Errorf("active channels are %v", active)
	}
	if got := fmt.Sprint(h.json["hosts"], h.json["ledger"]); got != "map[alive:2 limit:7] map[accepted:3 answered:1 balanced:true cancelled:0 failed:0 waiting:2]" {
		t.Errorf("hosts and ledger are %s", got)
	}
	if n := g.metrics()[`bareclaw_channels{state="running"}`]; n != 1 {
		t.Errorf("%v channels are running by the metrics", n)
	}

	finish()
	g.outcome(running)
	g.outcome(waiting)
	trace := g.must("GET", "/messages/"+waiting+"/trace", nil, 200)
	var got []string
	for _, mark := range trace.json["timeline"].([]any) {
		got = append(got, mark.(map[string]any)["what"].(string))
	}
	if want := "[received queued dispatched handed started first_event ended answered delivered]"; fmt.Sprint(got) != want {
		t.Errorf("timeline is %v, want %s", got, want)
	}
	durations := trace.json["durations"].(map[string]any)
	if len(durations) != 4 || durations["total_ms"].(float64) < durations["queued_ms"].(float64) {
		t.Errorf("durations are %v", durations)
	}
}
