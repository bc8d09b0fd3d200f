package rules

import "bareclaw/observe/capture"

// A Subject is a request that rules look at, and what they may compare it with. It is not for concurrent
// use, as its first reader parses the bodies.
type Subject struct {
	Request *capture.Request
	// Recent are the latest requests to the endpoint in this run of the app, the oldest first, at
	// most InsightWindowPerEndpoint. The last one is Request.
	Recent []*capture.Request
	// Arrived is the same as Recent, but with those requests of which the app may not have told all yet. Only their
	// answers may be compared.
	Arrived []*capture.Request
	// Latest is the latest request to each endpoint in this run, Request among them.
	Latest map[string]*capture.Request
	// Flow are the requests of the same client that lead up to Request, the oldest first, as far as each
	// began at most FlowGap after the one before. The last one is Request.
	Flow []*capture.Request
	// Earlier are the figures of the endpoint in earlier runs of the app, the oldest first.
	Earlier []RunFigures

	sent     document
	received document
}

// RunFigures are the figures of an endpoint in one run of the app.
type RunFigures struct {
	Requests int     `json:"requests"`
	P95      float64 `json:"p95"`               // milliseconds
	Queries  float64 `json:"queries"`           // a request, on average; -1: unknown
	Unusual  bool    `json:"unusual,omitempty"` // was worse than runs before it
}
