package observe

import (
	"testing"

	"bareclaw/internal/testkit/webapps"
)

// TestGo has each rule find its flaw in an app in Go on PostgreSQL that is instrumented by otelhttp and otelsql, as
// TestExpress has.
func TestGo(t *testing.T) {
	t.Parallel()
	o := observe(t, webapps.Go(t))
	plants := language{
		name:  "Go",
		fault: "*errors.errorString: no item 17",
	}.plants()
	plants = append(plants, plant{
		rule:     "error",
		endpoint: "GET /error/panic",
		shown:    "*errors.errorString: no item 19",
		times:    1,
		shows:    visit("/error/panic"),
		clears: func(o *observer) { // so often that errors are seldom
			o.get("/error/panic")
			o.get("/error/panic")
		},
	})
	findAll(o, plants)
}
