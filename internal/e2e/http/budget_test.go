package http

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
)

// Over the daily budget nothing is begun, who sends is told, and a new process
// knows what was spent; with a higher budget it goes on.
func TestDailyBudget(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, harness.Noon(), "BARECLAW_DAILY_BUDGET_USD=0.01") // what the scripted claude takes for a turn
	g := m.Start()
	if got := g.Say("http", "echo one").JSON["cost_usd"]; got != 0.01 {
		t.Errorf("the turn cost %v", got)
	}
	const why = "The daily budget of $0.01"
	keyed := func() harness.Answer {
		a, err := g.Do("POST", "/message", harness.Obj{"text": "echo two"}, "Idempotency-Key", "k")
		if err != nil || a.Status != 202 {
			t.Fatalf("%v, %d %s", err, a.Status, a.Body)
		}
		return a
	}
	held := keyed()
	until := g.ParkedUntil(held, why)
	if left := time.Until(until); left < 10*time.Hour || left > 14*time.Hour {
		t.Errorf("it waits for %s", left)
	}
	g.Kill()
	g = m.Start()
	g.Eventually("it is known what was spent", func() bool { return g.Metrics()["bareclaw_spent_usd_today"] == 0.01 })
	g.Eventually("the channel is parked", func() bool { return g.Channel("http").Str("state") == "parked" })
	if again := keyed(); again.Str("message_id") != held.Str("message_id") || !g.ParkedUntil(again, why).Equal(until) {
		t.Errorf("sent again: %s", again.Body)
	}
	if now := g.Must("GET", held.Header.Get("Location"), nil, 200); now.Str("state") != "waiting" || !strings.Contains(now.Str("why"), why) || now.Str("until") == "" {
		t.Errorf("after a crash it is %s", now.Body)
	}
	other := g.Must("POST", "/message", harness.Obj{"text": "echo three", "channel": "other"}, 202)
	g.ParkedUntil(other, why)
	async, err := g.Do("POST", "/message", harness.Obj{"text": "echo four"}, "Prefer", "respond-async")
	if err != nil || async.Status != 202 {
		t.Fatalf("%v: %s", err, async.Body)
	}
	g.ParkedUntil(async, why)
	own := g.Stream("POST", "/message", harness.Obj{"text": "echo five"})
	own.Want("accepted")
	own.Want("queued")
	if e := own.Want("notice"); e.Str("code") != "parked" || !strings.Contains(e.Str("text"), why) {
		t.Errorf("the stream says %s", e.Body)
	}
	if c := g.Channel("http"); c.Str("state") != "parked" || c.Str("until") != held.Str("until") {
		t.Errorf("channel: %s", c.Body)
	}
	if s := g.Metrics(); s["bareclaw_spent_usd_today"] != 0.01 || s["bareclaw_daily_budget_usd"] != 0.01 {
		t.Errorf("metrics: %v of %v", s["bareclaw_spent_usd_today"], s["bareclaw_daily_budget_usd"])
	}
	if n := m.Begun("echo"); n != 1 {
		t.Errorf("%d turns were begun", n)
	}
	g.Signal(syscall.SIGTERM)
	m.Set("BARECLAW_DAILY_BUDGET_USD=1")
	g = m.Start()
	g.Outcome(async.Str("message_id"))
	g.Outcome(other.Str("message_id")).Want(t, "three")
	if a := g.Outcome(held.Str("message_id")); a.Str("state") != "answered" {
		t.Errorf("with a higher budget: %s", a.Body)
	}
	g.Say("other", "echo six").Want(t, "six")
	g.Eventually("what was spent adds up", func() bool { return g.Metrics()["bareclaw_spent_usd_today"] > 0.035 })
	g.Balanced()
}

// Who waits is told when a channel is parked. Sending the message again is a try,
// which waits for the outcome.
func TestRepeatedMessageOnParkedChannel(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	repeated := func() *harness.Held {
		return g.Hold(harness.Obj{"text": "wait " + m.Path("proceed")}, "Idempotency-Key", "k")
	}
	_, finish := g.Occupy("http")
	refused := g.Tell("http", "notloggedin")
	g.Tell("http", "/context") // which is a turn of its own
	behind := repeated()
	g.Queued("http", 3)
	finish()
	if a := g.Outcome(refused); a.Code() != "not_logged_in" {
		t.Fatalf("the first: %s", a.Body)
	}
	g.ParkedUntil(behind.Answer(202), "not logged in")
	again := repeated()
	m.Eventually("the turn runs", func() bool { return m.Begun("proceed") == 1 })
	once := repeated()
	m.Touch("proceed")
	for _, h := range []*harness.Held{again, once} {
		h.Answer(200).Want(t, "waited for "+m.Path("proceed"))
	}
	g.Balanced()
}

// A request that is held through a restart is told as well when its channel is
// parked by the new process.
func TestHeldThroughRestartUntilParked(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, harness.Noon(), "BARECLAW_DAILY_BUDGET_USD=0.01")
	g := m.Start()
	first := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	behind := g.Hold(harness.Obj{"text": "echo two"})
	g.Queued("http", 1)
	generation := g.Generation()
	g.Must("POST", "/restart", nil, 200)
	g.Restarted(generation)
	m.Touch("go")
	first.Answer(200).Want(t, "waited for "+m.Path("go"))
	a := behind.Answer(202)
	g.ParkedUntil(a, "daily budget")
	if now := g.Must("GET", "/messages/"+a.Str("message_id")+"?wait=1m&until=parked", nil, 200); now.Str("until") != a.Str("until") {
		t.Errorf("a client that asks is told %s", now.Body)
	}
	g.Must("GET", "/messages/"+a.Str("message_id")+"?wait=1m&until=tomorrow", nil, 400)
	g.Must("DELETE", "/messages/"+a.Str("message_id"), nil, 200)
	g.Balanced()
}

// TestTurnBudget has a turn cost more than BARECLAW_MAX_BUDGET_USD: it fails, and the
// conversation goes on in a process that has a whole budget.
func TestTurnBudget(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_MAX_BUDGET_USD=0.01") // what the scripted claude takes for a turn
	g := m.Start()
	over := g.Say("http", "tool 0 ls")
	over.Failed(t, "max_budget", "BARECLAW_MAX_BUDGET_USD", "Send another message")
	if over.Number("cost_usd") != 0.01 {
		t.Errorf("what was spent is not told: %s", over.Body)
	}
	g.Say("http", "echo one").Want(t, "one") // of one request: nothing is left to be refused
	if args := g.Say("http", "args").Str("text"); !strings.Contains(args, `"--max-budget-usd","0.01"`) {
		t.Errorf("claude was started with %s", args)
	}
	after := g.Say("http", "history")
	if after.Str("session_id") != over.Str("session_id") || !strings.Contains(after.Str("text"), "echo one") || !strings.Contains(after.Str("text"), "tool 0 ls") || after.JSON["notices"] != nil {
		t.Errorf("the conversation does not go on: %s", after.Body)
	}
	g.Balanced()
}

// TestTurnsWithinTheirBudget has many turns cost together more than one of them may: none is
// cut, since claude, which counts from its start, is replaced in time.
func TestTurnsWithinTheirBudget(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_MAX_BUDGET_USD=0.1")
	g := m.Start()
	pids := map[string]bool{}
	for range 12 {
		g.Say("http", "tool 0 ls").Want(t, "final: ran: ls")
		pids[g.Say("http", "pid").Str("text")] = true
	}
	if len(pids) < 2 {
		t.Errorf("24 turns of $0.01 ran in %d processes, with a budget of $0.10 for each", len(pids))
	}
	g.Balanced()
}
