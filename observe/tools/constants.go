package tools

import (
	"time"

	"bareclaw/observe/rules"
)

// The numbers of the tools.
const (
	// InitialDiscoveryTimeout is how long after the start of the gateway calls wait for an app.
	InitialDiscoveryTimeout = 5 * time.Second
	// LazyDiscoveryTimeout is how long a later call waits for an app.
	LazyDiscoveryTimeout = 2 * time.Second
	// ClientFetchTimeout bounds each request to an app's API.
	ClientFetchTimeout = 10 * time.Second
	// HealthCheckTimeout bounds the request that shows whether the API answers.
	HealthCheckTimeout = 3 * time.Second
	// DiscoveryPollInterval is the time between two looks for an app.
	DiscoveryPollInterval = 500 * time.Millisecond
	// MaxDiscoveryDepth is how many directories above that of a channel are searched.
	MaxDiscoveryDepth = 5
	// MaxTimelineEvents bounds the events of a request that are shown.
	MaxTimelineEvents = 20
	// MaxResolvedDisplay bounds the resolved findings of a report.
	MaxResolvedDisplay = 5
)

// EnrichmentSeverityFilter returns the severities of findings that are shown without being asked for.
func EnrichmentSeverityFilter() []rules.Severity {
	return []rules.Severity{rules.Critical, rules.Warning}
}

// The numbers that only these tools have.
const (
	// maxFindings bounds the findings that one answer shows.
	maxFindings = 50
	// maxContexts bounds the findings that are shown with what happened during a request.
	maxContexts = 5
	// maxQueries and maxFetches bound what such a request shows.
	maxQueries = 5
	maxFetches = 3
	// maxEndpoints bounds the endpoints that one answer shows.
	maxEndpoints = 100
	// maxWords bounds a text of the app that is shown, in characters.
	maxWords = 400
	// maxName bounds a shorter one, such as an endpoint.
	maxName = 160
	// maxID bounds the id of a request or finding, in bytes.
	maxID = 128
	// replayTimeout bounds a request that is sent again.
	replayTimeout = 30 * time.Second
	// replayRounds is how often the evidence may be too little after all requests of a round were sent again.
	replayRounds = 2
	// evidenceTimeout is how long what the app tells of the requests of a round may take: an observer
	// waits 10 s for it.
	evidenceTimeout = 12 * time.Second
	// evidenceInterval is the time between two looks at the findings meanwhile.
	evidenceInterval = 100 * time.Millisecond
	// callTimeout bounds a call that reads, with the wait for an app.
	callTimeout = 60 * time.Second
	// verifyTimeout bounds a call of verify_fix.
	verifyTimeout = 5 * time.Minute
	// startTimeout bounds a call that starts or stops an observer.
	startTimeout = time.Minute
)
