package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// noon sets a time zone in which no day ends while a test runs.
func noon() string {
	return fmt.Sprintf("TZ=Etc/GMT%+d", time.Now().UTC().Hour()-12)
}

// parkedUntil checks that a 202 says why the message waits and until when.
func (g *gateway) parkedUntil(a answer, why string) time.Time {
	g.t.Helper()
	until, err := time.Parse(time.RFC3339, a.str("until"))
	retry, retryErr := strconv.Atoi(a.header.Get("Retry-After"))
	if a.str("state") != "waiting" || !strings.Contains(a.str("why"), why) || err != nil || !until.After(time.Now()) ||
		a.header.Get("Location") != "/messages/"+a.str("message_id") || retryErr != nil || retry < 1 || retry > 300 {
		g.t.Errorf("a message that waits for %q is answered %v %s", why, a.header, a.body)
	}
	return until
}

// Over the daily budget nothing is begun, who sends is told, and a new process
// knows what was spent; with a higher budget it goes on.
func TestDailyBudget(t *testing.T) {
	t.Parallel()
	m := newMachine(t, noon(), "BARECLAW_DAILY_BUDGET_USD=0.01") // what the scripted claude takes for a turn
	g := m.start()
	if got := g.say("http", "echo one").json["cost_usd"]; got != 0.01 {
		t.Errorf("the turn cost %v", got)
	}
	const why = "The daily budget of $0.01"
	keyed := func() answer {
		a, err := g.do("POST", "/message", obj{"text": "echo two"}, "Idempotency-Key", "k")
		if err != nil || a.status != 202 {
			t.Fatalf("%v, %d %s", err, a.status, a.body)
		}
		return a
	}
	held := keyed()
	until := g.parkedUntil(held, why)
	if left := time.Until(until); left < 10*time.Hour || left > 14*time.Hour {
		t.Errorf("it waits for %s", left)
	}
	g.kill()
	g = m.start()
	g.eventually("it is known what was spent", func() bool { return g.metrics()["bareclaw_spent_usd_today"] == 0.01 })
	g.eventually("the channel is parked", func() bool { return g.channel("http").str("state") == "parked" })
	if again := keyed(); again.str("message_id") != held.str("message_id") || !g.parkedUntil(again, why).Equal(until) {
		t.Errorf("sent again: %s", again.body)
	}
	if now := g.must("GET", held.header.Get("Location"), nil, 200); now.str("state") != "waiting" || !strings.Contains(now.str("why"), why) || now.str("until") == "" {
		t.Errorf("after a crash it is %s", now.body)
	}
	other := g.must("POST", "/message", obj{"text": "echo three", "channel": "other"}, 202)
	g.parkedUntil(other, why)
	async, err := g.do("POST", "/message", obj{"text": "echo four"}, "Prefer", "respond-async")
	if err != nil || async.status != 202 {
		t.Fatalf("%v: %s", err, async.body)
	}
	g.parkedUntil(async, why)
	own := g.stream("POST", "/message", obj{"text": "echo five"})
	own.want("accepted")
	own.want("queued")
	if e := own.want("notice"); e.str("code") != "parked" || !strings.Contains(e.str("text"), why) {
		t.Errorf("the stream says %s", e.body)
	}
	if c := g.channel("http"); c.str("state") != "parked" || c.str("until") != held.str("until") {
		t.Errorf("channel: %s", c.body)
	}
	if s := g.metrics(); s["bareclaw_spent_usd_today"] != 0.01 || s["bareclaw_daily_budget_usd"] != 0.01 {
		t.Errorf("metrics: %v of %v", s["bareclaw_spent_usd_today"], s["bareclaw_daily_budget_usd"])
	}
	if n := m.begun("echo"); n != 1 {
		t.Errorf("%d turns were begun", n)
	}
	g.signal(syscall.SIGTERM)
	m.set("BARECLAW_DAILY_BUDGET_USD=1")
	g = m.start()
	g.outcome(async.str("message_id"))
	g.outcome(other.str("message_id")).want(t, "three")
	if a := g.outcome(held.str("message_id")); a.str("state") != "answered" {
		t.Errorf("with a higher budget: %s", a.body)
	}
	g.say("other", "echo six").want(t, "six")
	g.eventually("what was spent adds up", func() bool { return g.metrics()["bareclaw_spent_usd_today"] > 0.035 })
	g.balanced()
}

// Who waits is told when a channel is parked. Sending the message again is a try,
// which waits for the outcome.
func TestRepeatedMessageOnParkedChannel(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	repeated := func() *held {
		return g.hold(obj{"text": "wait " + m.path("proceed")}, "Idempotency-Key", "k")
	}
	_, finish := g.occupy("http")
	refused := g.tell("http", "notloggedin")
	g.tell("http", "/context") // which is a turn of its own
	behind := repeated()
	g.queued("http", 3)
	finish()
	if a := g.outcome(refused); a.code() != "not_logged_in" {
		t.Fatalf("the first: %s", a.body)
	}
	g.parkedUntil(behind.answer(202), "not logged in")
	again := repeated()
	m.eventually("the turn runs", func() bool { return m.begun("proceed") == 1 })
	once := repeated()
	m.touch("proceed")
	for _, h := range []*held{again, once} {
		h.answer(200).want(t, "waited for "+m.path("proceed"))
	}
	g.balanced()
}

// A request that is held through a restart is told as well when its channel is
// parked by the new process.
func TestHeldThroughRestartUntilParked(t *testing.T) {
	t.Parallel()
	m := newMachine(t, noon(), "BARECLAW_DAILY_BUDGET_USD=0.01")
	g := m.start()
	first := g.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	behind := g.hold(obj{"text": "echo two"})
	g.queued("http", 1)
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	m.touch("go")
	first.answer(200).want(t, "waited for "+m.path("go"))
	a := behind.answer(202)
	g.parkedUntil(a, "daily budget")
	if now := g.must("GET", "/messages/"+a.str("message_id")+"?wait=1m&until=parked", nil, 200); now.str("until") != a.str("until") {
		t.Errorf("a client that asks is told %s", now.body)
	}
	g.must("GET", "/messages/"+a.str("message_id")+"?wait=1m&until=tomorrow", nil, 400)
	g.must("DELETE", "/messages/"+a.str("message_id"), nil, 200)
	g.balanced()
}

// TestTurnBudget has a turn cost more than BARECLAW_MAX_BUDGET_USD: it fails, and the
// conversation goes on in a process that has a whole budget.
func TestTurnBudget(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_MAX_BUDGET_USD=0.01") // what the scripted claude takes for a turn
	g := m.start()
	over := g.say("http", "tool 0 ls")
	over.failed(t, "max_budget", "BARECLAW_MAX_BUDGET_USD", "Send another message")
	if over.number("cost_usd") != 0.01 {
		t.Errorf("what was spent is not told: %s", over.body)
	}
	g.say("http", "echo one").want(t, "one") // of one request: nothing is left to be refused
	if args := g.say("http", "args").str("text"); !strings.Contains(args, `"--max-budget-usd","0.01"`) {
		t.Errorf("claude was started with %s", args)
	}
	after := g.say("http", "history")
	if after.str("session_id") != over.str("session_id") || !strings.Contains(after.str("text"), "echo one") || !strings.Contains(after.str("text"), "tool 0 ls") || after.json["notices"] != nil {
		t.Errorf("the conversation does not go on: %s", after.body)
	}
	g.balanced()
}

// TestTurnsWithinTheirBudget has many turns cost together more than one of them may: none is
// cut, since claude, which counts from its start, is replaced in time.
func TestTurnsWithinTheirBudget(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_MAX_BUDGET_USD=0.1")
	g := m.start()
	pids := map[string]bool{}
	for range 12 {
		g.say("http", "tool 0 ls").want(t, "final: ran: ls")
		pids[g.say("http", "pid").str("text")] = true
	}
	if len(pids) < 2 {
		t.Errorf("24 turns of $0.01 ran in %d processes, with a budget of $0.10 for each", len(pids))
	}
	g.balanced()
}
