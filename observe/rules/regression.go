package rules

import (
	"slices"
	"time"

	"bareclaw/observe/capture"
)

var regression = Rule{
	ID:       "regression",
	Category: Performance,
	Severity: Warning,
	Title:    "Worse than before",
	Advice:   "Look at what changed since: new queries, calls or work in each request.",
	Needs:    capture.Response,
	Earlier:  true,
	Check:    checkRegression,
	clears:   comparesRuns,
}

// comparesRuns reports whether the request says as much as those of earlier runs do.
func comparesRuns(s *Subject) bool {
	before, known := s.usual(1, RegressionMinRequests)
	isWhole := before.queries < 0 || queried(s.Request) && didItsWork(s)
	return known && isTimed(s) && isWhole
}

func checkRegression(s *Subject) []Match {
	before, known := s.usual(1, RegressionMinRequests)
	if !known || !timed(s.Request) {
		return nil
	}
	var matches []Match
	recent := s.latest(timed)
	limit := max(before.p95+RegressionMinIncrease, before.p95*(whole+RegressionPctThreshold)/whole)
	now := p95(recent)
	if len(recent) >= RegressionMinRequests && now >= limit && s.Request.Took >= limit {
		d := Describe("95%% of requests took at most %s before, and now take up to %s.", took(before.p95), took(now))
		matches = append(matches, Match{Description: d})
	}
	recent = s.latest(timedQueries)
	mostQueries := before.queries * QueryCountRegressionRatio
	average := averageQueries(recent)
	isMore := queried(s.Request) && average > mostQueries && float64(len(work(s.Request))) > mostQueries
	if len(recent) >= RegressionMinRequests && before.queries > 0 && isMore {
		d := Describe("Requests made %s queries before, and now make %s.", number(before.queries), number(average))
		matches = append(matches, Match{Description: d})
	}
	return matches
}

func timedQueries(r *capture.Request) bool { return timed(r) && queried(r) }

// p95 returns the time that 95 of 100 requests do not exceed.
func p95(requests []*capture.Request) time.Duration {
	if len(requests) == 0 {
		return 0
	}
	times := make([]time.Duration, len(requests))
	for i, r := range requests {
		times[i] = r.Took
	}
	slices.Sort(times)
	return times[(len(times)*p95Pct-1)/whole]
}
