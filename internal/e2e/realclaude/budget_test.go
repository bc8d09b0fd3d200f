package realclaude

import (
	"math"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// dollar is what the real CLI takes for a reply of so many tokens, at the price of
// the model that it chooses itself.
const dollar = "usage 1000 1000 "

// A turn over its budget is told, and the conversation goes on; turns that cost
// less are not cut, however many there are.
func TestRealTurnBudget(t *testing.T) {
	m, g := harness.StartReal(t, harness.Noon(), "BARECLAW_MAX_BUDGET_USD=0.15")
	first := g.Say("http", dollar+"one")
	first.Want(t, "one")
	one, _ := first.JSON["cost_usd"].(float64)
	if one < 0.01 || one > 0.03 {
		t.Fatalf("a turn costs %v; the figures of this test are for 0.024", one)
	}
	for range 6 { // together more than the budget
		g.Say("http", dollar+"more").Want(t, "more")
	}
	id := g.Tell("http", "gate door much")
	m.Await(m.Held("door"), "the turn runs")
	behind := g.Tell("http", "tools:bash 5 echo x")
	m.Release("door")
	g.Outcome(id).Want(t, "much")
	over := g.Outcome(behind)
	g.Failed(over, "failed", "max_budget")
	g.Mentions(over, "BARECLAW_MAX_BUDGET_USD", "Send another message")
	if cost, _ := over.JSON["cost_usd"].(float64); cost < 0.15 {
		t.Errorf("it cost %v", cost)
	}
	g.Say("http", dollar+"after").Want(t, "after")
	g.Mentions(g.Say("http", "history"), "one", "more", "tools:bash", "after")
	if spent := g.Metrics()["bareclaw_spent_usd_today"]; spent < 5*one+0.15 {
		t.Errorf("%v was spent", spent)
	}
	g.Balanced()
}

// What a turn costs is the difference of totals, also when the session was resumed
// or cleared.
func TestRealCost(t *testing.T) {
	m, g := harness.StartReal(t, harness.Noon(), "BARECLAW_DAILY_BUDGET_USD=0.1")
	cost := func() float64 {
		a := g.Say("http", dollar+"ok")
		a.Want(t, "ok")
		usd, _ := a.JSON["cost_usd"].(float64)
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
	g.End("http")
	g = m.Start()
	same(cost(), "when the session is resumed")
	g.Say("http", "/clear")
	same(cost(), "when it is cleared")
	if one > 0.02 { // the budget is used up by five turns
		same(cost(), "at last")
		g.ParkedUntil(g.Must("POST", "/message", harness.Obj{"text": "echo no"}, 202), "daily budget")
	}
	if got := g.Metrics()["bareclaw_spent_usd_today"]; math.Abs(got-5*one) > 1e-9 {
		t.Errorf("%v was spent, on five turns of %v", got, one)
	}
}
