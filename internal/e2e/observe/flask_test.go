package observe

import (
	"testing"

	"bareclaw/internal/testkit/webapps"
	"bareclaw/observe/findings"
)

// TestFlask has the rules that need an app's own events find flaws in an app in Flask, which sends them as brakit's
// SDK does. Its requests have passed the proxy, so that the SDK tells of what they did alone.
func TestFlask(t *testing.T) {
	t.Parallel()
	app := webapps.Flask(t)
	o := observe(t, app)

	plants := []plant{
		at("high-rows", "SELECT items reads up to 250 rows, # times lately.").twice(),
		at("n1", "SELECT items runs 8 times in one request, for different values."),
		at("sensitive-logs", "The log has the value of a token, in 1 line."),
		{
			rule:     "error",
			endpoint: "GET /error",
			shown:    "ValueError: no item 17",
			times:    1,
			shows:    visit("/error"),
			clears: func(o *observer) { // so often that errors are seldom
				o.get("/error")
				o.get("/error")
			},
		},
	}
	app.Flaws(names(plants)...)
	showFlaws(o, plants)
	await(o, plants, findings.Open, 0)
	compare(o, plants)
	app.Flaws()
	clearFlaws(o, plants)
	app.Flaws(names(plants)...)
	showFlaws(o, plants)
	await(o, plants, findings.Open, 1)
	compare(o, plants)
}
