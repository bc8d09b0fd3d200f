package rules

import (
	"strings"

	"bareclaw/observe/capture"
)

// An operation is the first word of a query, in capitals.
type operation string

// isRead reports whether running the query again without a change in between gives the same rows.
func (o operation) isRead() bool {
	switch o {
	case "SELECT", "WITH", "FIND", "FINDONE", "GET", "MGET", "HGET", "HGETALL", "EXISTS":
		return true
	}
	return false
}

// isControl reports whether the query is about the connection or the transaction, and so no work.
func (o operation) isControl() bool {
	switch o {
	case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET", "RESET", "SHOW", "USE",
		"PRAGMA", "PREPARE", "DEALLOCATE", "DISCARD", "PING", "HELLO", "AUTH", "CLIENT":
		return true
	}
	return false
}

// operationOf returns the operation of a query.
func operationOf(q *capture.Query) operation {
	text := strings.TrimLeft(shapeOf(q), "( \t\r\n")
	for strings.HasPrefix(text, "/*") {
		_, after, closed := strings.Cut(text, "*/")
		if !closed {
			return ""
		}
		text = strings.TrimLeft(after, "( \t\r\n")
	}
	end := strings.IndexAny(text, " \t\r\n(;")
	if end >= 0 {
		text = text[:end]
	}
	return operation(strings.ToUpper(line(text, maxName)))
}

// shapeOf returns what is the same for queries that differ in values alone.
func shapeOf(q *capture.Query) string {
	if q.Shape != "" {
		return q.Shape
	}
	return q.Text
}

// label returns what a person calls the query: its operation and table, or if no table is known, its beginning.
func label(q *capture.Query) string {
	if q.Table == "" {
		return name(shapeOf(q))
	}
	return name(string(operationOf(q)) + " " + q.Table)
}

// work returns the queries of a request that are no control of the connection.
func work(r *capture.Request) []*capture.Query {
	queries := make([]*capture.Query, 0, len(r.Queries))
	for i := range r.Queries {
		q := &r.Queries[i]
		if !operationOf(q).isControl() {
			queries = append(queries, q)
		}
	}
	return queries
}

// queried reports whether the queries of a request are known.
func queried(r *capture.Request) bool { return r.Evidence.Has(capture.Queried) }

// averageQueries returns how many queries the requests made on average.
func averageQueries(requests []*capture.Request) float64 {
	if len(requests) == 0 {
		return 0
	}
	total := 0
	for _, r := range requests {
		total += len(work(r))
	}
	return float64(total) / float64(len(requests))
}

// A tally counts what queries have in common, in the order in which it first appears.
type tally struct {
	order []string
	count map[string]int
	first map[string]*capture.Query
}

func newTally() *tally {
	return &tally{
		count: make(map[string]int),
		first: make(map[string]*capture.Query),
	}
}

// add counts a query under a key.
func (t *tally) add(key string, q *capture.Query) {
	if t.count[key] == 0 {
		t.order = append(t.order, key)
		t.first[key] = q
	}
	t.count[key]++
}
