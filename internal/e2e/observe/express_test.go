package observe

import (
	"testing"

	"bareclaw/internal/testkit/webapps"
)

// visit returns what requests a path.
func visit(path string, header ...string) func(o *observer) {
	return func(o *observer) { o.get(path, header...) }
}

// at returns a flaw that shows by one request to the path of its rule's name.
func at(rule, shown string) plant {
	return plant{
		rule:     rule,
		endpoint: "GET /" + rule,
		shown:    shown,
		times:    1,
		shows:    visit("/" + rule),
	}
}

func (p plant) likelyOnly() plant {
	p.likely = true
	return p
}

func (p plant) twice() plant {
	p.times = 2
	return p
}

func (p plant) by(shows func(o *observer)) plant {
	p.shows = shows
	return p
}

// at names another endpoint.
func (p plant) at(path string) plant {
	p.endpoint = "GET " + path
	p.shows = visit(path)
	return p
}

// A language is what of an app's flaws depends on the language that it is written in.
type language struct {
	name  string // in findings
	fault string // that it ends a request with
}

// plants are the flaws of the apps in Express and Go, but for those that compare endpoints or runs.
func (l language) plants() []plant {
	trace := "The response shows a " + l.name + " stack trace."
	return []plant{
		at("n1", "SELECT items runs 7 times in one request, with different values.").likelyOnly(),
		at("redundant-query", "SELECT items runs 2 times in one request, with the same values."),
		at("query-heavy", "Requests make # queries on average.").twice(),
		at("select-star", "SELECT * reads all columns of items, >=2 times recently.").twice(),
		{
			rule:     "error",
			endpoint: "GET /error",
			shown:    l.fault,
			times:    1,
			shows:    visit("/error"),
			clears: func(o *observer) { // so often that errors are seldom
				o.get("/error")
				o.get("/error")
			},
		},
		at("error-hotspot", "#% of recent requests failed (# of #).").twice(),
		at("sensitive-logs", "The log shows the value of a password, in 1 line."),
		at("exposed-secret", "#apiKey#"),
		{
			rule:     "token-in-url",
			endpoint: "GET /token-in-url",
			shown:    `The URL contains a value of "token".`,
			times:    1,
			shows:    visit("/token-in-url?token=a-token-of-somebody"),
			clears:   visit("/token-in-url"),
		},
		at("stack-trace-leak", trace),
		at("stack-trace-leak", trace).at("/stack-trace-leak/mended"),
		at("stack-trace-leak", trace).at("/stack-trace-leak/success"),
		at("error-info-leak", "The error response shows a part of an SQL query."),
		at("insecure-cookie", `The cookie "seen" lacks HttpOnly and SameSite.`),
		at("cors-credentials", "The app allows credentials for whatever origin asks, such as https://other.example.net.").
			by(visit("/cors-credentials", "Origin", "https://other.example.net")).likelyOnly(),
		at("response-pii-leak", "The response contains personal data: a list of records with email addresses."),
		at("large-response", "Responses have # kB on average.").twice(),
		at("response-overfetch", "A record in the response has 14 fields."),
		{
			rule:     "duplicate",
			endpoint: "GET /api/duplicate",
			shown:    "One page loads the same data 3 times.",
			times:    1,
			shows:    func(o *observer) { loadPage(o, 3) },
			clears:   func(o *observer) { loadPage(o, 1) },
		},
	}
}

// loadPage loads a page, and data for it so many times.
func loadPage(o *observer, times int) {
	o.get("/page")
	for range times {
		o.get("/api/duplicate", "Referer", o.record.Proxy+"/page")
	}
}

// TestExpress has each rule find its flaw in an app in Express on PostgreSQL that tells of itself by OpenTelemetry, and
// nothing else; has the findings resolved by requests when the flaws are gone, and open again when they are back.
func TestExpress(t *testing.T) {
	t.Parallel()
	o := observe(t, webapps.Express(t))
	plants := language{
		name:  "JavaScript",
		fault: "TypeError: no item 17",
	}.plants()
	findAll(o, plants)
}

// findAll has flaws found, resolved and found again, and nothing else found.
func findAll(o *observer, plants []plant) {
	o.t.Helper()
	cycle(o, plants)
	compare(o, plants)
	found := o.findings()
	for i := range plants {
		if f := found[plants[i].place()]; !f.Regressed {
			o.t.Errorf("%s is open again, but not marked as such", plants[i].place())
		}
	}
}

// names returns the flaws by which an app knows plants.
func names(plants []plant) (all []string) {
	for i := range plants {
		all = append(all, plants[i].rule)
	}
	return all
}
