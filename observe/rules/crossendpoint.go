package rules

import (
	"maps"
	"slices"

	"bareclaw/observe/capture"
)

var crossEndpoint = Rule{
	ID:       "cross-endpoint",
	Category: Performance,
	Severity: Warning,
	Title:    "Same query on most endpoints",
	Advice:   "Cache its result, or load it once in middleware.",
	Needs:    capture.Queried,
	Check:    checkCrossEndpoint,
	clears:   comparesEndpoints,
}

// comparesEndpoints reports whether the request and the rest of the traffic tell that no query is widespread.
// Another endpoint's request proves nothing while some query is, nor does one that failed before its queries.
func comparesEndpoints(s *Subject) bool {
	if !didItsWork(s) || len(work(s.Request)) == 0 {
		return false
	}
	all := s.queryingEndpoints()
	working := maps.Clone(all)
	maps.DeleteFunc(working, func(_ string, r *capture.Request) bool { return !worked(r) })
	return len(working) >= CrossEndpointMinEndpoints && len(widespread(s, working)) == 0 && len(widespread(s, all)) == 0
}

func checkCrossEndpoint(s *Subject) []Match {
	own := make(map[string]bool)
	for _, q := range work(s.Request) {
		own[shapeOf(q)] = true
	}
	if len(own) == 0 {
		return nil
	}
	endpoints := s.queryingEndpoints()
	if len(endpoints) < CrossEndpointMinEndpoints {
		return nil
	}
	var matches []Match
	for _, w := range widespread(s, endpoints) {
		if !own[shapeOf(w.query)] {
			continue
		}
		matches = append(matches, Match{
			Endpoint:    Global,
			Description: Describe("%s runs on %s of %s endpoints.", label(w.query), Count(w.endpoints), Count(len(endpoints))),
		})
	}
	return distinct(matches)
}

// queryingEndpoints returns the latest request to each endpoint that makes queries.
func (s *Subject) queryingEndpoints() map[string]*capture.Request {
	latest := make(map[string]*capture.Request)
	for endpoint, r := range s.Latest {
		if queried(r) && len(work(r)) > 0 {
			latest[endpoint] = r
		}
	}
	return latest
}

// A widespreadQuery is a query that many endpoints make.
type widespreadQuery struct {
	query     *capture.Query
	endpoints int
}

// widespread returns the queries that at least CrossEndpointPct of the endpoints make.
func widespread(s *Subject, endpoints map[string]*capture.Request) []widespreadQuery {
	runs := newTally()
	on := make(map[string]int)
	for _, endpoint := range slices.Sorted(maps.Keys(endpoints)) {
		r := endpoints[endpoint]
		own := newTally()
		for _, q := range work(r) {
			own.add(shapeOf(q), q)
			runs.add(shapeOf(q), q)
		}
		for _, shape := range own.order {
			on[shape]++
		}
	}
	for _, r := range s.latest(queried) {
		if r == endpoints[r.Endpoint] {
			continue
		}
		for _, q := range work(r) {
			runs.add(shapeOf(q), q)
		}
	}
	var found []widespreadQuery
	for _, shape := range runs.order {
		isFrequent := runs.count[shape] >= CrossEndpointMinOccurrences
		isEverywhere := on[shape] >= CrossEndpointMinEndpoints && on[shape]*whole >= len(endpoints)*CrossEndpointPct
		if isFrequent && isEverywhere {
			found = append(found, widespreadQuery{runs.first[shape], on[shape]})
		}
	}
	return found
}
