package rules

import (
	"strings"

	"bareclaw/observe/capture"
)

var selectStar = Rule{
	ID:       "select-star",
	Category: Performance,
	Severity: Warning,
	Title:    "SELECT * reads all columns",
	Advice:   "Name the columns that you need instead of *.",
	Needs:    capture.Queried,
	Check:    checkSelectStar,
	clears:   didItsWork,
}

var allColumns = expression{text: "(?i)^[\\s(]*select\\s+(?:distinct\\s+)?(?:[\\w\"`.]+\\.)?\\*" + "|[\\w\"`]\\.\\*\\s+from\\s"}

func checkSelectStar(s *Subject) []Match {
	var matches []Match
	own := starTables(s.Request)
	if len(own.order) == 0 {
		return nil
	}
	total := make(map[string]int)
	for _, r := range s.latest(queried) {
		tables := starTables(r)
		for _, table := range tables.order {
			total[table] += tables.count[table]
		}
	}
	for _, table := range own.order {
		if total[table] >= OverfetchMinRequests {
			d := Describe("SELECT * reads all columns of %s, %s recently.", name(table), times(total[table]))
			matches = append(matches, Match{Description: d})
		}
	}
	return matches
}

// starTables counts the queries of a request for all columns, by table. The tables of the database's own
// are for tools.
func starTables(r *capture.Request) *tally {
	tables := newTally()
	for i := range r.Queries {
		q := &r.Queries[i]
		if isSystemTable(q.Table) || !strings.Contains(shapeOf(q), "*") || !allColumns.pattern().MatchString(shapeOf(q)) {
			continue
		}
		table := q.Table
		if table == "" {
			table = "an unknown table"
		}
		tables.add(table, q)
	}
	return tables
}

func isSystemTable(table string) bool {
	for _, prefix := range []string{"pg_", "sqlite_", "information_schema"} {
		if strings.HasPrefix(strings.ToLower(table), prefix) {
			return true
		}
	}
	return false
}
