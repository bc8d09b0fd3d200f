package api

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/observe/capture"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// millis returns a time in milliseconds since 1970; 0 for none.
func millis(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1000
}

func millisOf(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// requestOf returns a captured request, with its bodies.
func requestOf(r *capture.Request) Request {
	path, _, _ := strings.Cut(r.URL, "?")
	return Request{
		ID:              r.ID,
		Method:          r.Method,
		URL:             r.URL,
		Path:            path,
		Headers:         flat(r.Sent.Header),
		RequestBody:     bodyOf(&r.Sent),
		StatusCode:      r.Status,
		ResponseHeaders: flat(r.Received.Header),
		ResponseBody:    bodyOf(&r.Received),
		StartedAt:       millis(r.Started),
		DurationMs:      millisOf(r.Took),
		ResponseSize:    r.Received.Size,
		Endpoint:        r.Endpoint,
		End:             string(r.End),
		Run:             r.Run,
		Evidence:        evidenceOf(r.Evidence),
	}
}

func bodyOf(m *capture.Message) *string {
	if m.Body == nil {
		return nil
	}
	text := string(m.Body)
	return &text
}

// The names of the sources of evidence.
const (
	EvidenceResponse = "response"
	EvidenceBody     = "body"
	EvidenceTraced   = "traced"
	EvidenceQueried  = "queried"
	EvidenceLogged   = "logged"
)

func evidenceOf(e capture.Evidence) (names []string) {
	for _, source := range []struct {
		evidence capture.Evidence
		name     string
	}{
		{capture.Response, EvidenceResponse},
		{capture.Body, EvidenceBody},
		{capture.Traced, EvidenceTraced},
		{capture.Queried, EvidenceQueried},
		{capture.Logged, EvidenceLogged},
	} {
		if e.Has(source.evidence) {
			names = append(names, source.name)
		}
	}
	return names
}

// eventsOf returns what the app told of a request, the first first.
func eventsOf(r *capture.Request) []Event {
	events := make([]Event, 0, len(r.Queries)+len(r.Fetches)+len(r.Logs)+len(r.Faults))
	add := func(kind string, at time.Time, e Entry) {
		e.ID = r.ID + "-" + kind + "-" + strconv.Itoa(len(events))
		e.ParentRequestID = &r.ID
		e.Timestamp = millis(at)
		events = append(events, Event{
			Type:      kind,
			Timestamp: e.Timestamp,
			Data:      e,
		})
	}
	for i := range r.Queries {
		add(KindQuery, r.Queries[i].At, entryOfQuery(&r.Queries[i]))
	}
	for _, f := range r.Fetches {
		add(KindFetch, f.At, Entry{
			DurationMs: millisOf(f.Took),
			URL:        f.URL,
			Method:     f.Method,
			StatusCode: f.Status,
		})
	}
	for _, l := range r.Logs {
		add(KindLog, l.At, Entry{
			Level:   cmp.Or(l.Level, "log"),
			Message: l.Text,
			Source:  l.From,
		})
	}
	for _, f := range r.Faults {
		add(KindError, f.At, Entry{
			Name:    f.Name,
			Message: f.Message,
			Stack:   f.Stack,
		})
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	return events
}

func entryOfQuery(q *capture.Query) Entry {
	e := Entry{
		DurationMs: millisOf(q.Took),
		Driver:     q.System,
		SQL:        q.Text,
		Table:      q.Table,
		Values:     q.Values,
		Failed:     q.Failed,
	}
	verb, _, _ := strings.Cut(strings.TrimSpace(q.Text), " ")
	switch verb = strings.ToUpper(verb); verb {
	case "SELECT", "INSERT", "UPDATE", "DELETE":
		e.NormalizedOp = verb
	default:
		e.NormalizedOp = "OTHER"
	}
	if q.Rows >= 0 {
		rows := q.Rows
		e.RowCount = &rows
	}
	return e
}

// timelineOf returns the timeline of a request.
func timelineOf(r *capture.Request) Timeline {
	events := eventsOf(r)
	return Timeline{
		Total:    len(events),
		Timeline: events,
		Counts: Counts{
			Fetches: len(r.Fetches),
			Logs:    len(r.Logs),
			Errors:  len(r.Faults),
			Queries: len(r.Queries),
		},
	}
}

// pointOf returns the figures of a request.
func pointOf(r *capture.Request) Point {
	p := Point{
		Timestamp:  millis(r.Started),
		DurationMs: millisOf(r.Took),
		StatusCode: r.Status,
		QueryCount: len(r.Queries),
	}
	for i := range r.Queries {
		p.QueryTimeMs += millisOf(r.Queries[i].Took)
	}
	for _, f := range r.Fetches {
		p.FetchTimeMs += millisOf(f.Took)
	}
	return p
}

// findingOf returns a finding in the shape of the API.
func findingOf(f *findings.Finding) Finding {
	out := Finding{
		IssueID:  f.ID,
		State:    string(f.State),
		Source:   "passive",
		Category: categoryOf(f.Rule),
		Issue: Issue{
			Category: categoryOf(f.Rule),
			Rule:     f.Rule,
			Severity: f.Severity,
			Title:    f.Title,
			Desc:     f.Description,
			Hint:     f.Advice,
			Likely:   f.Likely,
		},
		FirstSeenAt:            millis(f.FirstSeen),
		LastSeenAt:             millis(f.LastSeen),
		Occurrences:            f.Occurrences,
		CleanHitsSinceLastSeen: f.CleanHits,
		Regressed:              f.Regressed,
		ReopenCount:            f.Reopens,
		RequestIDs:             f.Requests,
	}
	if f.Endpoint != rules.Global {
		out.Issue.Endpoint = f.Endpoint
	}
	if !f.ResolvedAt.IsZero() {
		at := millis(f.ResolvedAt)
		out.ResolvedAt = &at
	}
	if f.Fix != nil {
		if f.Fix.Status != findings.FixBegun { // brakit knows no such status
			status := string(f.Fix.Status)
			out.AIStatus = &status
		}
		out.AINotes = &f.Fix.Note
		out.FixFailed = f.Fix.Failed
	}
	return out
}

// categoryOf returns the category of what a rule finds.
func categoryOf(rule string) string {
	switch rule {
	case "exposed-secret", "token-in-url", "stack-trace-leak", "error-info-leak", "insecure-cookie", "cors-credentials",
		"response-pii-leak", "sensitive-logs", "security":
		return CategorySecurity
	case "error", "error-hotspot":
		return CategoryReliability
	}
	return CategoryPerformance
}
