package http

import (
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
)

// TestHealthListsWhatIsGoingOn shows channels by state, hosts and the ledger's
// account, and the whole way of a message in its trace.
func TestHealthListsWhatIsGoingOn(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t, "BARECLAW_MAX_SESSIONS=7").Start()
	g.Say("ready", "echo here")
	running, finish := g.Occupy("busy")
	waiting := g.Tell("busy", "echo later")
	g.Queued("busy", 1)
	g.Eventually("the first outcome is in the ledger", func() bool { return g.Metrics()[`bareclaw_messages_total{outcome="answered"}`] == 1 })

	h := g.Must("GET", "/health", nil, 200)
	channels := h.JSON["channels"].(map[string]any)
	if got := fmt.Sprint(channels["states"]); got != "map[ending:0 idle:0 parked:0 ready:1 running:1 starting:0 waiting:0]" {
		t.Errorf("states are %s", got)
	}
	active := channels["active"].([]any)
	busy, ready := active[0].(map[string]any), active[1].(map[string]any)
	if len(active) != 2 || busy["channel"] != "busy" || busy["running"] != 1.0 || busy["waiting"] != 1.0 || busy["since"] == nil || ready["state"] != "ready" {
		t.Errorf("active channels are %v", active)
	}
	if got := fmt.Sprint(h.JSON["hosts"], h.JSON["ledger"]); got != "map[alive:2 limit:7] map[accepted:3 answered:1 balanced:true cancelled:0 failed:0 waiting:2]" {
		t.Errorf("hosts and ledger are %s", got)
	}
	if n := g.Metrics()[`bareclaw_channels{state="running"}`]; n != 1 {
		t.Errorf("%v channels are running by the metrics", n)
	}

	finish()
	g.Outcome(running)
	g.Outcome(waiting)
	trace := g.Must("GET", "/messages/"+waiting+"/trace", nil, 200)
	var got []string
	for _, mark := range trace.JSON["timeline"].([]any) {
		got = append(got, mark.(map[string]any)["what"].(string))
	}
	if want := "[received queued dispatched handed started first_event ended answered]"; fmt.Sprint(got) != want {
		t.Errorf("timeline is %v, want %s", got, want)
	}
	durations := trace.JSON["durations"].(map[string]any)
	if len(durations) != 4 || durations["total_ms"].(float64) < durations["queued_ms"].(float64) {
		t.Errorf("durations are %v", durations)
	}
}

// TestHealthWhileParked tells that nothing is answered, why, and what to do, as long as no
// channel works: one that does is the proof that the gateway can.
func TestHealthWhileParked(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		settings []string
		provoke  func(g *harness.Gateway) // parks the channel desk
		waits    bool                     // with a message that waits
		says     []string
		alone    bool // no other channel can work
	}{
		"login": {
			provoke: func(g *harness.Gateway) { g.Say("desk", "notloggedin") },
			says:    []string{`"desk"`, "not logged in", "On the gateway's machine, run `claude`"},
		},
		"limit, and a message waits": {
			provoke: func(g *harness.Gateway) {
				_, finish := g.Occupy("desk")
				failed := g.Tell("desk", "apierror 402")
				g.Tell("desk", "/context") // a turn of its own
				finish()
				g.Outcome(failed)
				g.Queued("desk", 1)
			},
			waits: true,
			says:  []string{`"desk"`, "usage limit"},
		},
		"budget": {
			settings: []string{harness.Noon(), "BARECLAW_DAILY_BUDGET_USD=0.015"},
			provoke: func(g *harness.Gateway) {
				g.Say("desk", "echo spent")
				g.Say("desk", "echo more than there is")
				g.Must("POST", "/message", harness.Obj{"channel": "desk", "text": "echo later"}, 202)
			},
			waits: true, alone: true,
			says: []string{`"desk"`, "daily budget of $0.015", "($0.02 spent today)", "raise BARECLAW_DAILY_BUDGET_USD"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, g := harness.Started(t, row.settings...)
			health := func(when, status string, says ...string) {
				t.Helper()
				h := g.Must("GET", "/health", nil, 200)
				problems, _ := h.JSON["problems"].([]any)
				if h.Str("status") != status || h.JSON["ready"] != true || len(problems) != min(1, len(says)) {
					t.Errorf("%s: the gateway is %s, with %q", when, h.Body, problems)
				}
				for _, want := range says {
					if !strings.Contains(fmt.Sprint(problems...), want) {
						t.Errorf("%s: the problem %q lacks %q", when, problems, want)
					}
				}
			}
			health("at first", "ok")
			row.provoke(g)
			health("parked", "degraded", row.says...)
			m.Command(exitcode.OK, "status").Shows("degraded", "parked")
			if row.alone {
				m.Command(exitcode.OK, "status").Shows("$0.02 of $0.015\n")
				return
			}
			running, finish := g.Occupy("other")
			health("while another channel works", "ok")
			finish()
			g.Outcome(running)
			if row.waits {
				health("when nothing works any more", "degraded", row.says...)
			} else {
				health("when another channel was answered since", "ok")
			}
		})
	}
}
