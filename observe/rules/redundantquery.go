package rules

import (
	"strings"

	"bareclaw/observe/capture"
)

var redundantQuery = Rule{
	ID:       "redundant-query",
	Category: Performance,
	Severity: Warning,
	Title:    "Same query twice",
	Advice:   "Run the query once and pass its result on, or cache it for the request.",
	Needs:    capture.Queried,
	Check:    checkRedundantQuery,
	clears:   knowsValues,
}

// knowsValues reports whether the request shows what its queries asked for.
func knowsValues(s *Subject) bool {
	queries := work(s.Request)
	for _, q := range queries {
		if q.ValuesKnown {
			return didItsWork(s)
		}
	}
	return len(queries) == 0 && didItsWork(s)
}

func checkRedundantQuery(s *Subject) []Match {
	var matches []Match
	reads := newTally()
	for _, q := range work(s.Request) {
		switch {
		case !operationOf(q).isRead():
			// What is read after a change may differ.
			matches = append(matches, redundant(reads)...)
			reads = newTally()
		case isRepeatable(q):
			reads.add(q.Text+"\x00"+q.Values, q)
		}
	}
	return distinct(append(matches, redundant(reads)...))
}

// isRepeatable reports whether the query, run twice, is known to be the same and to return the same.
func isRepeatable(q *capture.Query) bool {
	if !q.ValuesKnown || q.Failed || q.Table == "" || len(q.Text) >= capture.MaxText {
		return false
	}
	return !strings.Contains(strings.ToLower(shapeOf(q)), "for update")
}

func redundant(reads *tally) []Match {
	var matches []Match
	for _, key := range reads.order {
		if n := reads.count[key]; n >= RedundantQueryMinCount {
			d := Describe("%s runs %s in one request, with the same values.", label(reads.first[key]), times(n))
			matches = append(matches, Match{Description: d})
		}
	}
	return matches
}
