package rules

import "bareclaw/observe/capture"

var n1 = Rule{
	ID:       "n1",
	Category: Performance,
	Severity: Critical,
	Title:    "N+1 queries",
	Advice:   "Load the rows with one query instead of one by one in a loop: with a join, IN (…), or eager loading in the ORM.",
	Needs:    capture.Queried,
	Check:    checkN1,
	clears:   didItsWork,
	hints:    fewN1,
}

func checkN1(s *Subject) []Match { return loops(s, N1QueryThreshold) }

// fewN1 returns the queries that run for each of some rows still, but for too few rows to be a match.
func fewN1(s *Subject) []Match { return loops(s, 1) }

// loops returns the queries that run more often than a limit in the request.
func loops(s *Subject, limit int) []Match {
	shapes := newTally()
	queries := work(s.Request)
	for _, q := range queries {
		shapes.add(shapeOf(q), q)
	}
	var matches []Match
	for _, shape := range shapes.order {
		if shapes.count[shape] <= limit {
			continue
		}
		differ, known := variety(queries, shape)
		if !differ && known {
			continue
		}
		matches = append(matches, Match{
			Description: Describe("%s runs %s in one request, with different values.", label(shapes.first[shape]), times(shapes.count[shape])),
			Likely:      !differ,
		})
	}
	return distinct(matches)
}

// variety reports whether queries of a shape are known to differ, and whether all their values are known.
func variety(queries []*capture.Query, shape string) (differ, known bool) {
	texts := make(map[string]bool)
	known = true
	for _, q := range queries {
		if shapeOf(q) != shape {
			continue
		}
		texts[q.Text+"\x00"+q.Values] = true
		known = known && q.ValuesKnown
	}
	return len(texts) > 1, known
}
