package rules

import "bareclaw/observe/capture"

var queryHeavy = Rule{
	ID:       "query-heavy",
	Category: Performance,
	Severity: Warning,
	Title:    "Many queries for a request",
	Advice:   "Combine queries by joins or batches, and leave out those whose result the response does not need.",
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
	return []Match{{Description: Describe("A request makes %s queries on average.", number(average))}}
}
