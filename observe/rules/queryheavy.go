package rules

import "bareclaw/observe/capture"

var queryHeavy = Rule{
	ID:       "query-heavy",
	Category: Performance,
	Severity: Warning,
	Title:    "Many queries per request",
	Advice:   "Combine queries with joins or batches, and drop those whose results are not needed.",
	Needs:    capture.Queried,
	Check:    checkQueryHeavy,
	clears:   didItsWork,
}

func checkQueryHeavy(s *Subject) []Match {
	if len(work(s.Request)) <= HighQueryCountPerReq {
		return nil
	}
	recent := s.latest(queried)
	average := averageQueries(recent)
	if len(recent) < MinRequestsForInsight || average <= HighQueryCountPerReq {
		return nil
	}
	return []Match{{Description: Describe("Requests make %s queries on average.", number(average))}}
}
