package observe

import "bareclaw/observe/findings"

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

// acrossEndpoints is the flaw that shows by a comparison of endpoints.
func acrossEndpoints() plant {
	return plant{
		rule:  "cross-endpoint",
		shown: "SELECT settings runs on 3 of # endpoints.",
		times: 3, // of the other endpoints the latest request counts alone
		shows: visitParts,
	}
}
