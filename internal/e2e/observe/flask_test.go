package observe

import (
	"testing"

	"bareclaw/internal/testkit/webapps"
)

// TestFlask has the rules that need an app's own events find flaws in an app in Flask, which sends them as brakit's
// SDK does. Its requests have passed the proxy, so that the SDK tells of what they did alone.
func TestFlask(t *testing.T) {
	t.Parallel()
	o := observe(t, webapps.Flask(t))

	plants := []plant{
		// It comes first: when the others are resolved, all of its clean requests are judged, and outweigh its errors.
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
		at("high-rows", "SELECT items reads up to 250 rows, >=2 times recently.").twice(),
		at("n1", "SELECT items runs 8 times in one request, with different values."),
		at("sensitive-logs", "The log shows the value of a token, in 1 line."),
	}
	cycle(o, plants)
	compare(o, plants)
}
