package otlp

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/observe/capture"
)

// parameterPrefix begins the names of attributes that have a parameter of a query each.
const parameterPrefix = "db.query.parameter."

// query returns the query that the step has sent; nil if it has sent none. The names of attributes
// are those of two generations: the stable ones first.
func (s *span) query(at time.Time) *capture.Query {
	a := s.attributes
	system := a.get("db.system.name", "db.system")
	text := s.queryText()
	if system == "" || text == "" || s.kind == kindServer || s.prepares() {
		return nil
	}
	values := a.parameters()
	return &capture.Query{
		At:          at,
		Took:        s.took(),
		System:      strings.ToLower(system),
		Text:        text,
		Table:       a.get("db.collection.name", "db.sql.table", "db.mongodb.collection", "db.cassandra.table"),
		Values:      values,
		ValuesKnown: values != "" || capture.IsComplete(text),
		Rows:        a.count("db.response.returned_rows"),
		Failed:      s.failed(),
	}
}

// queryText returns the text of the query, or what is known in its place: operation and collection.
func (s *span) queryText() string {
	a := s.attributes
	text := a.get("db.query.text", "db.statement")
	if text != "" {
		return text
	}
	operation := a.get("db.operation.name", "db.operation")
	collection := a.get("db.collection.name", "db.sql.table", "db.mongodb.collection", "db.cassandra.table")
	if operation == "" || collection == "" {
		return "" // connects, or begins a transaction
	}
	return operation + " " + collection
}

// prepares reports whether the step only prepares a statement, which another one executes.
func (s *span) prepares() bool {
	first, _, _ := strings.Cut(s.name, " ")
	return strings.HasSuffix(strings.ToLower(first), "prepare")
}

// parameters returns the values that stood in the place of a query's placeholders; empty if the app
// does not tell them.
func (a attributes) parameters() string {
	var told attributes
	for _, one := range a {
		name, ok := strings.CutPrefix(one.name, parameterPrefix)
		if ok {
			told = append(told, attribute{name, one.value})
		}
	}
	if len(told) == 0 {
		return a.get("db.postgresql.values", "db.statement.parameters")
	}
	slices.SortFunc(told, func(x, y attribute) int { return cmp.Compare(x.name, y.name) })
	var text strings.Builder
	for i, one := range told {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(one.name + "=" + one.value)
		if text.Len() > capture.MaxSignalText {
			break
		}
	}
	return capture.CutSignalText(text.String())
}

// fetch returns the HTTP request that the step has sent; nil if it has sent none.
func (s *span) fetch(at time.Time) *capture.Fetch {
	a := s.attributes
	method := a.get("http.request.method", "http.method")
	if s.kind != kindClient || method == "" {
		return nil
	}
	return &capture.Fetch{
		At:     at,
		Took:   s.took(),
		Method: method,
		URL:    a.url(),
		Status: max(a.count("http.response.status_code", "http.status_code"), 0),
	}
}

// url returns where a request went, or as much as is known of that.
func (a attributes) url() string {
	whole := a.get("url.full", "http.url")
	if whole != "" {
		return whole
	}
	host := a.get("server.address", "http.host", "net.peer.name")
	if host == "" {
		return a.target()
	}
	port := a.get("server.port", "net.peer.port")
	_, _, err := net.SplitHostPort(host)
	if port != "" && err != nil {
		host = net.JoinHostPort(host, port)
	}
	scheme := a.get("url.scheme", "http.scheme")
	if scheme == "" {
		scheme = "http"
	}
	return capture.CutSignalText(scheme + "://" + host + a.target())
}

// target returns path and query.
func (a attributes) target() string {
	target := a.get("http.target")
	if target != "" {
		return target
	}
	target = a.get("url.path")
	query := a.get("url.query")
	if query != "" {
		target += "?" + query
	}
	return target
}

// count returns the first of the names that is a number; -1 if there is none.
func (a attributes) count(names ...string) int {
	n, err := strconv.Atoi(a.get(names...))
	if err != nil || n < 0 {
		return -1
	}
	return n
}
