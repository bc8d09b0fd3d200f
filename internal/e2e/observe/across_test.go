package observe

import (
	"testing"

	"bareclaw/internal/testkit/webapps"
	"bareclaw/observe/findings"
)

// cycle has flaws found, resolved and found again.
func cycle(o *observer, plants []plant) {
	o.t.Helper()
	o.app.Flaws(names(plants)...)
	showFlaws(o, plants)
	await(o, plants, findings.Open, 0)
	o.app.Flaws()
	clearFlaws(o, plants)
	o.app.Flaws(names(plants)...)
	showFlaws(o, plants)
	await(o, plants, findings.Open, 1)
	o.app.Flaws()
}

// visitParts requests the endpoints that make the same query.
func visitParts(o *observer) {
	for _, part := range []string{"a", "b", "c"} {
		o.get("/cross/" + part)
	}
}

// TestAcross has the rule that compares endpoints find its flaw in the app in Express, which here sends its telemetry
// as JSON.
func TestAcross(t *testing.T) {
	t.Parallel()
	app := webapps.Express(t)
	app.Env = append(app.Env, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json")
	o := observe(t, app)
	plants := []plant{{
		rule:  "cross-endpoint",
		shown: "SELECT settings runs on 3 of # endpoints.",
		times: 3, // of the other endpoints the latest request counts alone
		shows: visitParts,
	}}
	cycle(o, plants)
	compare(o, plants)
}
