package analysis

import (
	"slices"
	"testing"
	"time"

	"bareclaw/observe/capture"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// runs is an app that is started again and again behind observers.
type runs struct {
	*observer

	run int
}

// start starts the app.
func (a *runs) start() { a.run++ }

// visit requests a page so many times. Each request takes some time, and makes some queries.
func (a *runs) visit(times int, took time.Duration, queries ...string) {
	for range times {
		r := a.request("GET /items", queries...)
		r.Run = a.run
		r.Took = took
		a.look(false, r)
		a.look(true, r)
	}
}

// finding returns the only finding of a rule.
func (a *runs) finding(rule string) findings.Finding {
	a.t.Helper()
	var found []findings.Finding
	for _, f := range a.store.All() {
		if f.Rule == rule {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		a.t.Fatalf("%s: %+v", rule, a.store.All())
	}
	return found[0]
}

// want ends the test if the finding of a rule is otherwise.
func (a *runs) want(rule string, state findings.State, text string) {
	a.t.Helper()
	if f := a.finding(rule); f.State != state || f.Description != text {
		a.t.Fatalf("run %d: %s is %s: %s", a.run, rule, f.State, f.Description)
	}
}

// TestSlowerThanEarlierRuns: slow and regression go by earlier runs of the app, with their figures; they are resolved by
// requests that are as fast as before, and open again when the endpoint is slow again in a later run.
func TestSlowerThanEarlierRuns(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	a := runs{observer: newObserver(t, rules.All()...)}
	for range rules.BaselineMinSessions {
		a.start()
		a.visit(rules.RegressionMinRequests, 100*ms)
	}
	a.start()
	a.visit(1, 100*ms)
	if all := a.store.All(); len(all) > 0 {
		t.Fatalf("all is as usual, and found is %+v", all)
	}
	a.start()
	a.visit(rules.RegressionMinRequests, 800*ms)
	const slow = "Requests take 800 ms on average, and before took at most 100 ms."
	const regression = "95% of requests took at most 100 ms before, and now take up to 800 ms."
	a.want("slow", findings.Open, slow)
	a.want("regression", findings.Open, regression)
	if f := a.finding("slow"); f.Occurrences != rules.RegressionMinRequests-1 { // the first one is no average
		t.Errorf("slow has %d occurrences", f.Occurrences)
	}
	a.start()
	a.visit(findings.CleanHitsForResolution-1, 90*ms)
	a.want("slow", findings.Open, slow)
	a.want("regression", findings.Open, regression)
	a.visit(1, 90*ms)
	a.want("slow", findings.Resolved, slow)
	a.want("regression", findings.Resolved, regression)
	a.start()
	a.visit(rules.RegressionMinRequests, 1200*ms)
	a.want("slow", findings.Open, "Requests take 1.2 s on average, and before took at most 100 ms.")
	a.want("regression", findings.Open, "95% of requests took at most 100 ms before, and now take up to 1.2 s.")
	for _, rule := range []string{"slow", "regression"} {
		if f := a.finding(rule); !f.Regressed || f.Reopens != 1 {
			t.Errorf("%s came back: %+v", rule, f)
		}
	}
}

// TestMoreQueriesThanEarlierRuns: regression goes by the number of queries of earlier runs, too.
func TestMoreQueriesThanEarlierRuns(t *testing.T) {
	t.Parallel()
	few := []string{"a", "b"}
	many := []string{"a", "b", "c", "d"}
	a := runs{observer: newObserver(t, rules.All()...)}
	a.start()
	a.visit(rules.RegressionMinRequests, time.Millisecond, few...)
	a.start()
	a.visit(rules.RegressionMinRequests, time.Millisecond, many...)
	const text = "Requests made 2 queries before, and now make 4."
	a.want("regression", findings.Open, text)
	a.visit(findings.CleanHitsForResolution, time.Millisecond, few...)
	a.want("regression", findings.Resolved, text)
	a.start()
	a.visit(rules.RegressionMinRequests, time.Millisecond, many...)
	a.want("regression", findings.Open, text)
	if f := a.finding("regression"); f.Reopens != 1 {
		t.Errorf("it came back: %+v", f)
	}
}

// TestSlownessDoesNotBecomeUsual: runs that are slower than usual are no measure for later ones, however many there are.
func TestSlownessDoesNotBecomeUsual(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	a := runs{observer: newObserver(t, rules.All()...)}
	for range rules.BaselineMinSessions {
		a.start()
		a.visit(rules.RegressionMinRequests, 100*ms)
	}
	for range 10 {
		a.start()
		a.visit(2*findings.CleanHitsForResolution, 800*ms)
	}
	a.want("slow", findings.Open, "Requests take 800 ms on average, and before took at most 100 ms.")
	a.want("regression", findings.Open, "95% of requests took at most 100 ms before, and now take up to 800 ms.")
	if f := a.finding("slow"); f.Reopens > 0 || f.CleanHits > 0 {
		t.Errorf("slow is %+v", f)
	}
}

// TestEarlierRuns: rules see the figures of earlier runs, of complete requests alone.
func TestEarlierRuns(t *testing.T) {
	t.Parallel()
	var saw []rules.RunFigures
	o := newObserver(t, rules.Rule{
		ID: "spy",
		Check: func(s *rules.Subject) []rules.Match {
			saw = s.Earlier
			return nil
		},
	})
	failed := o.request("GET /")
	failed.End = capture.AppFailed
	untold := o.request("GET /")
	untold.Evidence = capture.Response
	o.look(true, o.request("GET /", "a", "b"), failed, untold)
	o.look(false, o.request("GET /"))
	if saw != nil {
		t.Errorf("in the first run there are %v", saw)
	}
	r := o.request("GET /")
	r.Run = 2
	o.look(true, r)
	if want := (rules.RunFigures{Requests: 2, P95: 1, Queries: 2}); !slices.Equal(saw, []rules.RunFigures{want}) {
		t.Errorf("the figures are %+v", saw)
	}
}
