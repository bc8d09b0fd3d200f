package rules

import "bareclaw/observe/capture"

var highRows = Rule{
	ID:       "high-rows",
	Category: Performance,
	Severity: Warning,
	Title:    "Too many rows read",
	Advice:   "Read one page at a time with LIMIT, or narrow the query with WHERE.",
	Needs:    capture.Queried,
	Check:    checkHighRows,
	clears:   knowsRows,
}

// knowsRows reports whether the request shows how many rows it has read.
func knowsRows(s *Subject) bool {
	queries := work(s.Request)
	for _, q := range queries {
		if q.Rows >= 0 {
			return didItsWork(s)
		}
	}
	return len(queries) == 0 && didItsWork(s)
}

func checkHighRows(s *Subject) []Match {
	own := newTally()
	for _, q := range work(s.Request) {
		if q.Rows > HighRowCount {
			own.add(label(q), q)
		}
	}
	var matches []Match
	for _, query := range own.order {
		count := 0
		most := 0
		for _, r := range s.latest(queried) {
			for _, q := range work(r) {
				if q.Rows > HighRowCount && label(q) == query {
					count++
					most = max(most, q.Rows)
				}
			}
		}
		if count >= OverfetchMinRequests {
			d := Describe("%s reads up to %s rows, %s recently.", query, Count(most), times(count))
			matches = append(matches, Match{Description: d})
		}
	}
	return matches
}
