package observe

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/webapps"
	"bareclaw/observe/api"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// TestRuns has the rules that compare runs of an app find their flaws in the app in Go, which is started again twice.
func TestRuns(t *testing.T) {
	t.Parallel()
	app := webapps.Go(t)
	o := observe(t, app)
	more := at("regression", "Requests made 1 queries before, and now make 3.")
	later := at("regression", "95% of requests took at most # ms before, and now take up to #.").at("/regression/time").
		together(rules.RegressionMinRequests)
	slow := at("slow", "Requests take >=1.# s on average, and before took at most # ms.").
		together(rules.BaselineMinRequestsPerSession)

	awaitTelling(o)
	app.Flaws("usually-slow") // that a busy machine takes its time is nothing worse later
	showFlaws(o, []plant{more.together(rules.RegressionMinRequests), later, slow})
	awaitJudged(o)
	restart(o)
	showFlaws(o, []plant{slow})
	more.times = rules.RegressionMinRequests
	cycleShown(o, []plant{more, later})
	restart(o)
	cycleShown(o, []plant{slow})

	for at, f := range o.findings() {
		isOurs := at == slow.place() || at == more.place() || at == later.place() || at == barrier().place()
		if !isOurs {
			t.Errorf("%s is found too: %q", at, f.Issue.Desc)
		}
	}
}

// together has so many requests at once show the flaw, and single ones that it is gone.
func (p plant) together(n int) plant {
	single := p.shows
	p.clears = single
	p.shows = func(o *observer) {
		var requests sync.WaitGroup
		for range n {
			requests.Go(func() { single(o) })
		}
		requests.Wait()
	}
	return p
}

// awaitTelling waits until the app has told of a query. Before, a request is not waited for its telemetry, and its queries
// are unknown.
func awaitTelling(o *observer) {
	o.t.Helper()
	o.get("/n1")
	o.eventually("the app tells of queries", func() bool {
		all, _, err := o.client.Endpoints(o.t.Context(), api.EndpointChoice{})
		check.OK(o.t, err)
		return slices.ContainsFunc(all, func(e api.LiveEndpoint) bool { return e.Summary.AvgQueryCount > 0 })
	})
}

// restart has the app end and start again, and waits until the observer knows.
func restart(o *observer) {
	o.t.Helper()
	const again = "The app has started again"
	before := strings.Count(o.run.Err.String(), again)
	o.app.Flaws("end")
	o.get("/healthz")
	o.app.Flaws()
	o.eventually("the app has started again", func() bool {
		return strings.Count(o.run.Err.String(), again) > before
	})
	o.eventually("the app answers again", func() bool { return o.get("/healthz") == http.StatusOK })
}

// barrier is a flaw of the client itself.
func barrier() *plant {
	return &plant{
		rule:     "token-in-url",
		endpoint: "GET /token-in-url",
		times:    1,
		shows:    visit("/token-in-url?token=a-token-of-somebody"),
		clears:   visit("/token-in-url"),
	}
}

// awaitJudged waits until all that the requests before have told is known: requests are judged in turn, and it has some
// prove that a flaw is gone.
func awaitJudged(o *observer) {
	o.t.Helper()
	last := []plant{*barrier()}
	showFlaws(o, last)
	await(o, last, findings.Open, 0)
	clearFlaws(o, last)
}

// cycleShown has flaws found with what they should say, resolved and found again.
func cycleShown(o *observer, plants []plant) {
	o.t.Helper()
	o.app.Flaws(names(plants)...)
	showFlaws(o, plants)
	await(o, plants, findings.Open, 0)
	awaitShown(o, plants)
	found := o.findings()
	for i := range plants {
		p := &plants[i]
		if f := found[p.place()]; !p.isShown(f) {
			o.t.Errorf("%s: %q, want %q", p.place(), f.Issue.Desc, p.shown)
		}
	}
	o.app.Flaws()
	clearFlaws(o, plants)
	o.app.Flaws(names(plants)...)
	showFlaws(o, plants)
	await(o, plants, findings.Open, 1)
	o.app.Flaws()
}
