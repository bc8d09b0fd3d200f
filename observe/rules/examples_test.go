package rules

import (
	"bareclaw/observe/capture"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const allEvidence = capture.Response | capture.Body | capture.Traced | capture.Queried | capture.Logged

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// get returns a request that succeeded, with a response of JSON.
func get(url string) *capture.Request {
	path, _, _ := strings.Cut(url, "?")
	return &capture.Request{
		Method:   http.MethodGet,
		URL:      url,
		Endpoint: "GET " + path,
		Started:  epoch,
		Took:     10 * time.Millisecond,
		Status:   http.StatusOK,
		End:      capture.Complete,
		Evidence: allEvidence,
		Sent:     capture.Message{Header: http.Header{}},
		Received: capture.Message{
			Header: http.Header{},
			Media:  "application/json",
		},
	}
}

// replies returns get with a status and a body.
func replies(status int, media, body string) *capture.Request {
	r := get("/items")
	r.Status = status
	r.Received.Media = media
	r.Received.Body = []byte(body)
	r.Received.Size = int64(len(body))
	return r
}

func returnsJSON(body string) *capture.Request {
	return replies(http.StatusOK, "application/json", body)
}

func fails(body string) *capture.Request {
	return replies(http.StatusInternalServerError, "text/html", body)
}

// after returns the subject of the last request.
func after(requests ...*capture.Request) *Subject {
	s := &Subject{
		Request: requests[len(requests)-1],
		Recent:  requests,
		Arrived: requests,
		Flow:    requests,
		Latest:  make(map[string]*capture.Request),
	}
	for _, r := range requests {
		s.Latest[r.Endpoint] = r
	}
	return s
}

func repeat(n int, next func() *capture.Request) []*capture.Request {
	var requests []*capture.Request
	for range n {
		requests = append(requests, next())
	}
	return requests
}

// then returns the requests with another behind them.
func then(requests []*capture.Request, last *capture.Request) *Subject {
	return after(append(requests, last)...)
}

// sets returns a request whose response has a header several times.
func sets(name string, values ...string) *capture.Request {
	r := get("/items")
	r.Received.Header[name] = values
	return r
}

func logs(lines ...string) *capture.Request {
	r := get("/items")
	for _, line := range lines {
		r.Logs = append(r.Logs, capture.Log{Text: line})
	}
	return r
}

// A statement is a query of a test: its text, and its values, "?" for unknown.
type statement struct{ text, values string }

func (s statement) query() capture.Query {
	shape := strings.ToLower(s.text)
	for digit := range 10 {
		shape = strings.ReplaceAll(shape, fmt.Sprint(digit), "")
	}
	_, table, _ := strings.Cut(strings.ToLower(s.text), "from ")
	table, _, _ = strings.Cut(table, " ")
	q := capture.Query{
		Took:        time.Millisecond,
		Text:        s.text,
		Shape:       shape,
		Table:       table,
		Rows:        -1,
		ValuesKnown: s.values != "?",
	}
	if q.ValuesKnown {
		q.Values = s.values
	}
	return q
}

func runs(statements ...statement) *capture.Request {
	r := get("/items")
	for _, s := range statements {
		r.Queries = append(r.Queries, s.query())
	}
	return r
}

// sameQueries returns a request with n queries of one shape, in which "%d" is their number.
func sameQueries(n int, format string) *capture.Request {
	var statements []statement
	for i := range n {
		statements = append(statements, statement{text: strings.ReplaceAll(format, "%d", fmt.Sprint(i))})
	}
	return runs(statements...)
}

func reads(rows int) *capture.Request {
	r := runs(statement{text: "SELECT id FROM logs"})
	r.Queries[0].Rows = rows
	return r
}

func takes(d time.Duration) *capture.Request {
	r := get("/items")
	r.Took = d
	return r
}

func breaks(message string) *capture.Request {
	r := fails("")
	r.Faults = []capture.Fault{{Name: "TypeError", Message: message}}
	return r
}

// at returns the request, begun so much later.
func at(d time.Duration, r *capture.Request) *capture.Request {
	r.Started = epoch.Add(d)
	return r
}

func page() *capture.Request {
	r := get("/")
	r.Received.Media = "text/html"
	return r
}

func earlier(s *Subject, runs ...RunFigures) *Subject {
	s.Earlier = runs
	return s
}

func ofSize(n int64) *capture.Request {
	r := get("/items")
	r.Received.Size = n
	return r
}

// person returns a JSON object with so many fields more.
func person(fields int) string {
	var b strings.Builder
	b.WriteString(`{"id":1,"email":"ann@example.com"`)
	for i := range fields {
		fmt.Fprintf(&b, `,"f%d":1`, i)
	}
	b.WriteString("}")
	return b.String()
}

// An example shows what a rule finds.
type example struct {
	rule string
	// two subjects with the same problem, and other figures
	bad, other *Subject
	text       string // what is said of bad
	fixed      *Subject
	nothing    map[string]*Subject
	likely     bool
}

func TestExamples(t *testing.T) {
	covered := make(map[string]bool)
	for _, e := range examples() {
		t.Run(e.rule, func(t *testing.T) {
			covered[e.rule] = true
			r := byID(t, e.rule)
			first := r.Check(e.bad)
			second := r.Check(e.other)
			if len(first) != 1 || len(second) != 1 {
				t.Fatalf("%d and %d matches: %v, %v", len(first), len(second), first, second)
			}
			if first[0].Description.Text != e.text {
				t.Errorf("says %q", first[0].Description.Text)
			}
			if first[0].Likely != e.likely {
				t.Errorf("likely: %v", first[0].Likely)
			}
			if FindingID(e.rule, "", first[0].Description) != FindingID(e.rule, "", second[0].Description) {
				t.Errorf("two problems: %q and %q", first[0].Description.Text, second[0].Description.Text)
			}
			if found := r.Check(e.fixed); len(found) > 0 {
				t.Errorf("after the fix: %v", found)
			}
			if !r.Clean(e.fixed) {
				t.Error("after the fix, a request is no evidence")
			}
			for name, s := range e.nothing {
				if found := r.Check(s); len(found) > 0 {
					t.Errorf("%s: %v", name, found)
				}
			}
		})
	}
	for _, r := range All() {
		if !covered[r.ID] {
			t.Errorf("no example of %s", r.ID)
		}
	}
}

func byID(t *testing.T, id string) *Rule {
	t.Helper()
	for _, r := range All() {
		if r.ID == id {
			return &r
		}
	}
	t.Fatalf("there is no rule %s", id)
	return nil
}

func examples() []example {
	return append(append(securityExamples(), queryExamples()...), otherExamples()...)
}
