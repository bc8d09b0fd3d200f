// Package api is the HTTP API of an observer: its shapes, the server, and a client, which also reads the API
// of an app that contains brakit. The shapes are those of brakit with further members. Times are
// milliseconds since 1970, and durations milliseconds.
package api

import (
	"net/http"
	"strings"

	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// The paths of the API.
const (
	Prefix          = "/__brakit/api/"
	PathRequests    = Prefix + "requests"
	PathFlows       = Prefix + "flows"
	PathEvents      = Prefix + "events"
	PathLogs        = Prefix + "logs"
	PathFetches     = Prefix + "fetches"
	PathErrors      = Prefix + "errors"
	PathQueries     = Prefix + "queries"
	PathMetrics     = Prefix + "metrics"
	PathMetricsLive = Prefix + "metrics/live"
	PathActivity    = Prefix + "activity"
	PathInsights    = Prefix + "insights"
	PathSecurity    = Prefix + "security"
	PathFindings    = Prefix + "findings"
	PathReport      = Prefix + "findings/report"
	PathIngest      = Prefix + "ingest"
	PathClear       = Prefix + "clear"
	PathStatus      = Prefix + "status" // brakit has none
	PathReplay      = Prefix + "replay"

	// PathTelemetry is where the app sends its steps and logs, by OTLP.
	PathTelemetry = "/v1/"
)

// A Request is a request to the app.
type Request struct {
	ID              string            `json:"id"`
	Method          string            `json:"method"`
	URL             string            `json:"url"`
	Path            string            `json:"path"`
	Headers         map[string]string `json:"headers"`
	RequestBody     *string           `json:"requestBody"`
	StatusCode      int               `json:"statusCode"`
	ResponseHeaders map[string]string `json:"responseHeaders"`
	ResponseBody    *string           `json:"responseBody"`
	StartedAt       float64           `json:"startedAt"`
	DurationMs      float64           `json:"durationMs"`
	ResponseSize    int64             `json:"responseSize"`
	IsStatic        bool              `json:"isStatic"`
	IsHealthCheck   bool              `json:"isHealthCheck"`

	// The members that brakit does not have.
	Endpoint string   `json:"endpoint,omitempty"`
	End      string   `json:"end,omitempty"` // a capture.End
	Run      int      `json:"run,omitempty"`
	Evidence []string `json:"evidence,omitempty"` // the names of the sources that have told of the request
}

// A RequestList is some of the requests, the newest first.
type RequestList struct {
	Total    int       `json:"total"` // of those that fit the filter
	Requests []Request `json:"requests"`
}

// A Flow is a series of requests of one client that belong together.
type Flow struct {
	ID              string    `json:"id"`
	Label           string    `json:"label"`
	Requests        []Request `json:"requests"`
	StartTime       float64   `json:"startTime"`
	TotalDurationMs float64   `json:"totalDurationMs"`
	HasErrors       bool      `json:"hasErrors"`
	Warnings        []string  `json:"warnings"`
	SourcePage      string    `json:"sourcePage"`
	RedundancyPct   int       `json:"redundancyPct"`
}

// A FlowList is the flows, the newest first.
type FlowList struct {
	Total int    `json:"total"`
	Flows []Flow `json:"flows"`
}

// An Entry is what the app told of itself. Which members it has depends on its kind.
type Entry struct {
	ID              string  `json:"id,omitempty"`
	ParentRequestID *string `json:"parentRequestId"`
	Timestamp       float64 `json:"timestamp"`
	DurationMs      float64 `json:"durationMs,omitempty"` // of a query or fetch

	// Of a fetch.
	URL        string `json:"url,omitempty"`
	Method     string `json:"method,omitempty"`
	StatusCode int    `json:"statusCode,omitempty"`

	// Of a query.
	Driver       string `json:"driver,omitempty"`
	SQL          string `json:"sql,omitempty"`
	Model        string `json:"model,omitempty"`
	Operation    string `json:"operation,omitempty"`
	NormalizedOp string `json:"normalizedOp,omitempty"`
	Table        string `json:"table,omitempty"`
	RowCount     *int   `json:"rowCount,omitempty"`
	Values       string `json:"values,omitempty"` // brakit has none
	Failed       bool   `json:"failed,omitempty"` // likewise

	// Of a log or error.
	Level   string `json:"level,omitempty"`
	Message string `json:"message,omitempty"`
	Name    string `json:"name,omitempty"`
	Stack   string `json:"stack,omitempty"`
	Source  string `json:"source,omitempty"`
}

// An EntryList is the entries of one kind, the newest first.
type EntryList struct {
	Total   int     `json:"total"`
	Entries []Entry `json:"entries"`
}

// The kinds of events.
const (
	KindFetch = "fetch"
	KindQuery = "query"
	KindLog   = "log"
	KindError = "error"
)

// An Event is an entry with its kind.
type Event struct {
	Type      string  `json:"type"`
	Timestamp float64 `json:"timestamp"`
	Data      Entry   `json:"data"`
}

// Counts are numbers of events.
type Counts struct {
	Fetches int `json:"fetches"`
	Logs    int `json:"logs"`
	Errors  int `json:"errors"`
	Queries int `json:"queries"`
}

// A Timeline is what happened during a request, the first event first.
type Timeline struct {
	Total    int     `json:"total"`
	Timeline []Event `json:"timeline"`
	Counts   Counts  `json:"counts"`
}

// An Activity is the timeline of one request.
type Activity struct {
	RequestID string `json:"requestId"`
	Timeline
}

// Activities are the timelines of several requests, by id.
type Activities struct {
	RequestIDs []string            `json:"requestIds"`
	Activities map[string]Timeline `json:"activities"`
}

// The categories of issues.
const (
	CategorySecurity    = "security"
	CategoryPerformance = "performance"
	CategoryReliability = "reliability"
)

// An Issue is what a finding is about.
type Issue struct {
	Category string         `json:"category"`
	Rule     string         `json:"rule"`
	Severity rules.Severity `json:"severity"`
	Title    string         `json:"title"`
	Desc     string         `json:"desc"`
	Hint     string         `json:"hint"`
	Detail   string         `json:"detail,omitempty"`
	Endpoint string         `json:"endpoint,omitempty"` // empty: the whole app
	Likely   bool           `json:"likely,omitempty"`   // brakit has none
}

// A Finding is a problem of the app. An observer's states are those of package findings; brakit has further
// ones: see Now.
type Finding struct {
	IssueID                string   `json:"issueId"`
	State                  string   `json:"state"`
	Source                 string   `json:"source"`
	Category               string   `json:"category"`
	Issue                  Issue    `json:"issue"`
	FirstSeenAt            float64  `json:"firstSeenAt"`
	LastSeenAt             float64  `json:"lastSeenAt"`
	ResolvedAt             *float64 `json:"resolvedAt"`
	Occurrences            int      `json:"occurrences"`
	CleanHitsSinceLastSeen int      `json:"cleanHitsSinceLastSeen"`
	AIStatus               *string  `json:"aiStatus"`
	AINotes                *string  `json:"aiNotes"`

	// The members that brakit does not have.
	Regressed   bool     `json:"regressed,omitempty"`
	ReopenCount int      `json:"reopenCount,omitempty"`
	RequestIDs  []string `json:"requestIds,omitempty"` // of the latest that had it, the newest last
	FixFailed   bool     `json:"fixFailed,omitempty"`  // it was seen after a fix was reported
}

// A FindingList is findings.
type FindingList struct {
	Total    int       `json:"total"` // that are chosen
	Findings []Finding `json:"findings"`
	// Tallies count all findings, chosen or not. brakit does not have this member.
	Tallies []Tally `json:"tallies,omitempty"`
}

// An IssueList is the same under another name.
type IssueList struct {
	Issues []Finding `json:"issues"`
}

// A Report is what is said of the fix of a finding.
type Report struct {
	FindingID string             `json:"findingId"`
	Status    findings.FixStatus `json:"status"`
	Notes     string             `json:"notes"`
}

// A RunMetrics are the figures of an endpoint in one run of the app.
type RunMetrics struct {
	SessionID       string  `json:"sessionId"`
	StartedAt       float64 `json:"startedAt"`
	AvgDurationMs   float64 `json:"avgDurationMs"`
	P95DurationMs   float64 `json:"p95DurationMs"`
	RequestCount    int     `json:"requestCount"`
	ErrorCount      int     `json:"errorCount"`
	AvgQueryCount   float64 `json:"avgQueryCount"`
	AvgQueryTimeMs  float64 `json:"avgQueryTimeMs"`
	AvgFetchTimeMs  float64 `json:"avgFetchTimeMs"`
	QueriesUnknown  bool    `json:"queriesUnknown,omitempty"` // brakit has none
	AveragesUnknown bool    `json:"averagesUnknown,omitempty"`
}

// EndpointMetrics are the figures of an endpoint in the runs of the app, the oldest first.
type EndpointMetrics struct {
	Endpoint string       `json:"endpoint"`
	Sessions []RunMetrics `json:"sessions"`
}

// A MetricsList is the metrics of all endpoints.
type MetricsList struct {
	Endpoints []EndpointMetrics `json:"endpoints"`
}

// A Point is the figures of one request.
type Point struct {
	Timestamp   float64 `json:"timestamp"`
	DurationMs  float64 `json:"durationMs"`
	StatusCode  int     `json:"statusCode"`
	QueryCount  int     `json:"queryCount"`
	QueryTimeMs float64 `json:"queryTimeMs"`
	FetchTimeMs float64 `json:"fetchTimeMs"`
}

// A Summary is the figures of an endpoint.
type Summary struct {
	P95Ms          float64 `json:"p95Ms"`
	MedianMs       float64 `json:"medianMs"`
	ErrorRate      float64 `json:"errorRate"` // from 0 to 1
	AvgQueryCount  float64 `json:"avgQueryCount"`
	TotalRequests  int     `json:"totalRequests"`
	AvgQueryTimeMs float64 `json:"avgQueryTimeMs"`
	AvgFetchTimeMs float64 `json:"avgFetchTimeMs"`
	AvgAppTimeMs   float64 `json:"avgAppTimeMs"`
	QueriesUnknown bool    `json:"queriesUnknown,omitempty"` // the app told of none; brakit has no such member
}

// A LiveEndpoint is an endpoint as it is now.
type LiveEndpoint struct {
	Endpoint      string       `json:"endpoint"`
	Requests      []Point      `json:"requests"` // the oldest first
	Summary       Summary      `json:"summary"`
	Sessions      []RunMetrics `json:"sessions,omitempty"`
	BaselineP95Ms *float64     `json:"baselineP95Ms"`
}

// A LiveList is all endpoints as they are now.
type LiveList struct {
	Endpoints []LiveEndpoint `json:"endpoints"`
	// Totals are of all endpoints. brakit does not have this member.
	Totals *Totals `json:"totals,omitempty"`
}

// Totals say how much was seen of an app.
type Totals struct {
	Endpoints int `json:"endpoints"`
	Requests  int `json:"requests"`
}

// A ReplayRequest asks to send the latest GET or HEAD request of an endpoint again.
type ReplayRequest struct {
	Endpoint string `json:"endpoint"`
}

// A Replayed says what became of a request that was sent again.
type Replayed struct {
	RequestID string `json:"requestId"` // of the new request
	Before    int    `json:"before"`    // the status of the request that was sent again
	Status    int    `json:"status"`
}

// An answer to a request that changes something.
type done struct {
	OK      bool `json:"ok,omitempty"`
	Cleared bool `json:"cleared,omitempty"`
}

// A failure is the answer to a request that was refused.
type failure struct {
	Error string `json:"error"`
}

// flat returns the first value of each header, and several ones in one, as brakit has them.
func flat(h http.Header) map[string]string {
	all := map[string]string{}
	for name, values := range h {
		key := strings.ToLower(name)
		for i, v := range values {
			if i > 0 {
				all[key] += ", "
			}
			all[key] += v
		}
	}
	return all
}

// Now returns the state of a finding as an observer has it: stale and regressed findings of brakit are open.
func (f *Finding) Now() findings.State {
	switch state := findings.State(f.State); state {
	case findings.Fixing, findings.Resolved:
		return state
	}
	return findings.Open
}

// A Status says how an observer itself does.
type Status struct {
	Problems []string `json:"problems"` // sentences
}
