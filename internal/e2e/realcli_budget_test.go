package e2e

import (
	"math"
	"testing"
)

// dollar is what the real CLI takes for a reply of so many tokens, at the price of
// the model that it chooses itself.
const dollar = "usage 1000 1000 "

// A turn over its budget is told, and the conversation goes on; turns that cost
// less are not cut, however many there are.
func TestRealTurnBudget(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, noon(), "BARECLAW_MAX_BUDGET_USD=0.15")
	g := m.start()
	first := g.say("http", dollar+"one")
	first.want(t, "one")
	one, _ := first.json["cost_usd"].(float64)
	if one < 0.01 || one > 0.03 {
		t.Fatalf("a turn costs %v; the figures of this test are for 0.024", one)
	}
	for range 6 { // together more than the budget
		g.say("http", dollar+"more").want(t, "more")
	}
	id := g.tell("http", "gate door much")
	m.await(m.Held("door"), "the turn runs")
	behind := g.tell("http", "tools:bash 5 echo x")
	m.Release("door")
	g.outcome(id).want(t, "much")
	over := g.outcome(behind)
	g.failed(over, "failed", "max_budget")
	g.mentions(over, "BARECLAW_MAX_BUDGET_USD", "Send another message")
	if cost, _ := over.json["cost_usd"].(float64); cost < 0.15 {
		t.Errorf("it cost %v", cost)
	}
	g.say("http", dollar+"after").want(t, "after")
	g.mentions(g.say("http", "history"), "one", "more", "tools:bash", "after")
	if spent := g.metrics()["bareclaw_spent_usd_today"]; spent < 5*one+0.15 {
		t.Errorf("%v was spent", spent)
	}
	g.balanced()
}

// What a turn costs is the difference of totals, also when the session was resumed
// or cleared.
func TestRealCost(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, noon(), "BARECLAW_DAILY_BUDGET_USD=0.1")
	g := m.start()
	cost := func() float64 {
		a := g.say("http", dollar+"ok")
		a.want(t, "ok")
		usd, _ := a.json["cost_usd"].(float64)
		return usd
	}
	one := cost()
	same := func(usd float64, when string) {
		t.Helper()
		if math.Abs(usd-one) > 1e-9 {
			t.Errorf("a turn cost %v, and %s %v", one, when, usd)
		}
	}
	same(cost(), "the second time")
	g.end("http")
	g = m.start()
	same(cost(), "when the session is resumed")
	g.say("http", "/clear")
	same(cost(), "when it is cleared")
	if one > 0.02 { // the budget is used up by five turns
		same(cost(), "at last")
		g.parkedUntil(g.must("POST", "/message", obj{"text": "echo no"}, 202), "daily budget")
	}
	if got := g.metrics()["bareclaw_spent_usd_today"]; math.Abs(got-5*one) > 1e-9 {
		t.Errorf("%v was spent, on five turns of %v", got, one)
	}
}
