package rules

import (
	"slices"
	"strings"
	"time"

	"bareclaw/observe/capture"
)

var slow = Rule{
	ID:       "slow",
	Category: Performance,
	Severity: Warning,
	Title:    "Slower than usual",
	Advice:   "Find where the time goes: queries, calls to other services, or the code of the endpoint.",
	Needs:    capture.Response,
	Earlier:  true,
	Check:    checkSlow,
	clears:   isTimed,
}

// isTimed reports whether the time of the request says something of the endpoint.
func isTimed(s *Subject) bool { return timed(s.Request) && !repliedNothing(s) }

func timed(r *capture.Request) bool {
	return r.Evidence.Has(capture.Response) && worked(r) && isOneReply(r)
}

func checkSlow(s *Subject) []Match {
	usual, known := s.usual(BaselineMinSessions, BaselineMinRequestsPerSession)
	if !known || !timed(s.Request) {
		return nil
	}
	limit := max(time.Duration(float64(usual.p95)*BaselineOKRatio), usual.p95+SlowMinIncrease)
	recent := s.latest(timed)
	average := averageTime(recent)
	if len(recent) < MinRequestsForInsight || average < limit || s.Request.Took < limit {
		return nil
	}
	d := Describe("Requests take %s on average%s, and before took at most %s.", took(average), breakdown(recent, average), took(usual.p95))
	return []Match{{Description: d}}
}

func averageTime(requests []*capture.Request) time.Duration {
	var total time.Duration
	for _, r := range requests {
		total += r.Took
	}
	return total / time.Duration(max(len(requests), 1))
}

// breakdown says where the time goes, as far as the app tells.
func breakdown(requests []*capture.Request, average time.Duration) Figure {
	var queries, fetches time.Duration
	for _, r := range requests {
		for i := range r.Queries {
			queries += r.Queries[i].Took
		}
		for i := range r.Fetches {
			fetches += r.Fetches[i].Took
		}
	}
	if queries+fetches == 0 {
		return ""
	}
	n := time.Duration(len(requests))
	queries /= n
	fetches /= n
	parts := []string{
		"queries " + string(took(queries)),
		"calls " + string(took(fetches)),
		"the rest " + string(took(average-queries-fetches)),
	}
	return Figure(" (" + strings.Join(parts, ", ") + ")")
}

// A baseline is what is usual for an endpoint.
type baseline struct {
	p95     time.Duration
	queries float64 // a request; -1: unknown
}

// usual returns the medians of the earlier runs that had enough requests, if there are enough runs. Of an
// even number it is the lower one: a run that was bad itself is no measure for the next.
func (s *Subject) usual(runs, requests int) (b baseline, known bool) {
	var p95s []float64
	var queries []float64
	for _, run := range s.Earlier {
		if run.Requests < requests || run.Unusual {
			continue
		}
		p95s = append(p95s, run.P95)
		if run.Queries >= 0 {
			queries = append(queries, run.Queries)
		}
	}
	if len(p95s) < max(runs, 1) {
		return baseline{}, false
	}
	b.p95 = milliseconds(lowerMedian(p95s))
	b.queries = -1
	if len(queries) > 0 {
		b.queries = lowerMedian(queries)
	}
	return b, true
}

func lowerMedian(values []float64) float64 {
	slices.Sort(values)
	return values[(len(values)-1)/halves]
}
