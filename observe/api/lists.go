package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bareclaw/observe/capture"
)

const (
	// maxLimit bounds how many requests one answer has, and is their number without a limit.
	maxLimit = 500
	// maxBatch bounds how many requests an answer has the activity of.
	maxBatch = 50
	// maxPoints bounds how many requests of an endpoint an answer has the figures of.
	maxPoints = 200
)

// listRequests returns requests, chosen by method, status (404 or 4xx), search (in URL, bodies and id),
// endpoint, id, limit and offset. As in brakit, a number that cannot be read is one that was not given.
func (s *Server) listRequests(r *http.Request) (any, error) {
	query := r.URL.Query()
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit == 0 {
		limit = maxLimit
	}
	limit = min(max(limit, 1), maxLimit)
	offset, _ := strconv.Atoi(query.Get("offset"))
	offset = max(offset, 0)
	f := filter{
		method:   strings.ToUpper(query.Get("method")),
		status:   query.Get("status"),
		search:   strings.ToLower(query.Get("search")),
		endpoint: query.Get("endpoint"),
		id:       query.Get("id"), // others than that are no candidates
	}
	out := RequestList{Requests: []Request{}}
	for _, request := range s.candidates(f.id) {
		if !f.has(request) {
			continue
		}
		if out.Total >= offset && len(out.Requests) < limit {
			out.Requests = append(out.Requests, requestOf(request))
		}
		out.Total++
	}
	return out, nil
}

// candidates returns the request with an id, or all requests without one, the newest first.
func (s *Server) candidates(id string) []*capture.Request {
	if id == "" {
		return s.Captured.Requests(capture.Filter{})
	}
	request, ok := s.Captured.Request(id)
	if !ok {
		return nil
	}
	return []*capture.Request{request}
}

// A filter chooses requests. Empty fields are not looked at.
type filter struct {
	method, status, search string
	endpoint, id           string
}

func (f *filter) has(r *capture.Request) bool {
	switch {
	case f.method != "" && r.Method != f.method:
		return false
	case f.endpoint != "" && r.Endpoint != f.endpoint:
		return false
	case f.status != "" && !hasStatus(r.Status, f.status):
		return false
	}
	return f.search == "" || f.find(r.URL) || f.find(r.ID) || f.find(string(r.Sent.Body)) || f.find(string(r.Received.Body))
}

// find reports whether a text has what is searched.
func (f *filter) find(text string) bool { return strings.Contains(strings.ToLower(text), f.search) }

// hasStatus reports whether a status is the wanted one, which is a number or a class such as 4xx.
func hasStatus(status int, wanted string) bool {
	if class, ok := strings.CutSuffix(wanted, "xx"); ok {
		return strconv.Itoa(status/100) == class
	}
	return strconv.Itoa(status) == wanted
}

// entries returns a handler that lists the entries of a kind, of all requests or of one.
func (s *Server) entries(kind string) func(r *http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		id := r.URL.Query().Get("requestId")
		out := EntryList{Entries: []Entry{}}
		for _, request := range s.candidates(id) {
			for _, e := range slices.Backward(eventsOf(request)) {
				if e.Type == kind {
					out.Entries = append(out.Entries, e.Data)
				}
			}
		}
		slices.SortStableFunc(out.Entries, func(a, b Entry) int { return cmp.Compare(b.Timestamp, a.Timestamp) })
		out.Total = len(out.Entries)
		return out, nil
	}
}

// activity returns the timeline of the request requestId, or of those of requestIds, with commas between.
func (s *Server) activity(r *http.Request) (any, error) {
	query := r.URL.Query()
	if id := query.Get("requestId"); id != "" {
		return Activity{RequestID: id, Timeline: s.timeline(id)}, nil
	}
	var ids []string
	for id := range strings.SplitSeq(query.Get("requestIds"), ",") {
		if id != "" && len(ids) < maxBatch {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, refuse(http.StatusBadRequest, "give requestId or requestIds")
	}
	out := Activities{
		RequestIDs: ids,
		Activities: map[string]Timeline{},
	}
	for _, id := range ids {
		out.Activities[id] = s.timeline(id)
	}
	return out, nil
}

// timeline returns that of a request; it is empty if there is no such request.
func (s *Server) timeline(id string) Timeline {
	request, ok := s.Captured.Request(id)
	if !ok {
		request = &capture.Request{}
	}
	return timelineOf(request)
}

// chosen returns the findings in the state and category that a request names; all without, or with one that
// there is not, as in brakit.
func (s *Server) chosen(r *http.Request) []Finding {
	choice := Choice{State: choiceOf(r).State}
	category := categoryIn(r)
	out := []Finding{}
	for _, f := range s.Findings.All() {
		if choice.Has(traitsOf(&f)) && (category == "" || categoryOf(f.Rule) == category) {
			out = append(out, findingOf(&f))
		}
	}
	return out
}

// categoryIn returns the category that a request names; empty: none that there is.
func categoryIn(r *http.Request) string {
	category := r.URL.Query().Get("category")
	if slices.Contains([]string{CategorySecurity, CategoryPerformance, CategoryReliability}, category) {
		return category
	}
	return ""
}

func (s *Server) insights(r *http.Request) (any, error) {
	return IssueList{Issues: s.chosen(r)}, nil
}

func (s *Server) security(r *http.Request) (any, error) {
	list := s.chosen(r)
	list = slices.DeleteFunc(list, func(f Finding) bool { return f.Category != CategorySecurity })
	return IssueList{Issues: list}, nil
}

// sessions returns the figures of an endpoint in earlier runs of the app.
func (s *Server) sessions() map[string][]RunMetrics {
	out := map[string][]RunMetrics{}
	if s.Earlier == nil {
		return out
	}
	for endpoint, runs := range s.Earlier() {
		for i, run := range runs {
			out[endpoint] = append(out[endpoint], RunMetrics{
				SessionID:       fmt.Sprint(i + 1),
				P95DurationMs:   run.P95,
				RequestCount:    run.Requests,
				AvgQueryCount:   max(run.Queries, 0),
				QueriesUnknown:  run.Queries < 0,
				AveragesUnknown: true,
			})
		}
	}
	return out
}

// metrics returns the figures of endpoints in earlier runs, of all or of the one in the parameter endpoint.
func (s *Server) metrics(r *http.Request) (any, error) {
	wanted := r.URL.Query().Get("endpoint")
	out := MetricsList{Endpoints: []EndpointMetrics{}}
	for endpoint, sessions := range s.sessions() {
		if wanted == "" || endpoint == wanted {
			out.Endpoints = append(out.Endpoints, EndpointMetrics{Endpoint: endpoint, Sessions: sessions})
		}
	}
	slices.SortFunc(out.Endpoints, func(a, b EndpointMetrics) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	return out, nil
}

// liveMetrics returns the figures of all endpoints, the slowest first. What a request spent in queries and
// calls is that of the requests that are kept. The parameter only chooses less: summary leaves out the figures of
// single requests and of earlier runs, and totals the endpoints; order and limit choose some of the endpoints.
func (s *Server) liveMetrics(r *http.Request) (any, error) {
	figures := s.Captured.Endpoints()
	out := LiveList{
		Endpoints: []LiveEndpoint{},
		Totals:    totalsOf(figures),
	}
	only := r.URL.Query().Get(paramOnly)
	if only == onlyTotals {
		return out, nil
	}
	points := s.points()
	sessions := s.sessions()
	for i := range figures {
		f := &figures[i]
		recent := points[f.Endpoint]
		slices.Reverse(recent)
		live := LiveEndpoint{
			Endpoint: f.Endpoint,
			Requests: recent,
			Summary:  summaryOf(&f.Total, recent),
			Sessions: sessions[f.Endpoint],
		}
		live.BaselineP95Ms = baseline(live.Sessions)
		if only == onlySummary {
			live.Sessions = nil
			live.Requests = nil
		}
		if live.Requests == nil {
			live.Requests = []Point{}
		}
		out.Endpoints = append(out.Endpoints, live)
	}
	out.Endpoints = endpointChoiceOf(r).of(out.Endpoints)
	return out, nil
}

// The parameter of liveMetrics, which brakit does not know, and its values.
const (
	paramOnly   = "only"
	onlySummary = "summary"
	onlyTotals  = "totals"
)

// points returns the figures of the latest requests to each endpoint, the newest first.
func (s *Server) points() map[string][]Point {
	points := map[string][]Point{}
	for _, request := range s.Captured.Requests(capture.Filter{}) {
		if len(points[request.Endpoint]) < maxPoints {
			points[request.Endpoint] = append(points[request.Endpoint], pointOf(request))
		}
	}
	return points
}

func totalsOf(figures []capture.EndpointFigures) *Totals {
	t := &Totals{Endpoints: len(figures)}
	for i := range figures {
		t.Requests += figures[i].Total.Requests
	}
	return t
}

func summaryOf(f *capture.Figures, points []Point) Summary {
	queries := f.QueriesPerRequest()
	s := Summary{
		P95Ms:          millisOf(f.P95),
		MedianMs:       millisOf(f.P50),
		ErrorRate:      f.ErrorRate(),
		AvgQueryCount:  max(queries, 0),
		TotalRequests:  f.Requests,
		QueriesUnknown: queries < 0,
	}
	if len(points) == 0 {
		return s
	}
	n := float64(len(points))
	took := 0.0
	for _, p := range points {
		took += p.DurationMs / n
		s.AvgQueryTimeMs += p.QueryTimeMs / n
		s.AvgFetchTimeMs += p.FetchTimeMs / n
	}
	s.AvgAppTimeMs = max(0, took-s.AvgQueryTimeMs-s.AvgFetchTimeMs)
	return s
}

// Runs that count as a measure for the next ones, as in the rules.
const (
	baselineRuns     = 2
	baselineRequests = 3
)

// baseline returns the median of the p95 of earlier runs; nil: there are too few.
func baseline(sessions []RunMetrics) *float64 {
	var p95 []float64
	for _, s := range sessions {
		if s.RequestCount >= baselineRequests {
			p95 = append(p95, s.P95DurationMs)
		}
	}
	if len(p95) < baselineRuns {
		return nil
	}
	slices.Sort(p95)
	return &p95[len(p95)/2]
}
