package rules

import (
	"net/http"
	"testing"
	"time"

	"bareclaw/observe/capture"
)

const oneUser = "SELECT name FROM users WHERE id = %d"

// differing returns a request with n queries of n shapes.
func differing(n int) *capture.Request {
	var statements []statement
	for i := range n {
		statements = append(statements, statement{text: "SELECT c FROM t" + string(rune('a'+i))})
	}
	return runs(statements...)
}

// everywhere returns requests to n endpoints that ask for the session, and others.
func everywhere(n, others int) []*capture.Request {
	var requests []*capture.Request
	for i := range n + others {
		q := statement{text: "SELECT user FROM sessions WHERE id = $1", values: "[masked:8]"}
		if i >= n {
			q = statement{text: "SELECT title FROM posts"}
		}
		r := runs(q, statement{text: "SELECT one FROM t" + string(rune('a'+i))})
		r.Endpoint = "GET /" + string(rune('a'+i))
		requests = append(requests, r)
	}
	return requests
}

// last returns the subject of the request with a number.
func last(requests []*capture.Request, number int) *Subject {
	s := after(requests...)
	s.Request = requests[number]
	s.Recent = requests[number : number+1]
	s.Arrived = s.Recent
	return s
}

func queryExamples() []example {
	return []example{
		{
			rule:  "n1",
			bad:   after(sameQueries(7, oneUser)),
			other: after(sameQueries(8, oneUser)),
			text:  "SELECT users runs 7 times in one request, with different values.",
			fixed: after(sameQueries(7, oneUser), runs(statement{text: "SELECT name FROM users WHERE id IN (1, 2, 3)"})),
			nothing: map[string]*Subject{
				"five":        after(sameQueries(5, oneUser)),
				"the same":    after(sameQueries(7, "SELECT name FROM users WHERE id = $1")),
				"transaction": after(sameQueries(7, "SAVEPOINT s%d")),
			},
		},
		{
			rule:  "redundant-query",
			bad:   after(runs(statement{"SELECT a FROM b WHERE c = $1", "7"}, statement{"SELECT a FROM b WHERE c = $1", "7"})),
			other: after(sameQueries(3, "SELECT a FROM b")),
			text:  "SELECT b runs 2 times in one request, with the same values.",
			fixed: after(sameQueries(2, "SELECT a FROM b"), sameQueries(1, "SELECT a FROM b")),
			nothing: map[string]*Subject{
				"other values":   after(runs(statement{"SELECT a FROM b WHERE c = $1", "7"}, statement{"SELECT a FROM b WHERE c = $1", "8"})),
				"unknown values": after(runs(statement{"SELECT a FROM b WHERE c = $1", "?"}, statement{"SELECT a FROM b WHERE c = $1", "?"})),
				"after a change": after(runs(statement{text: "SELECT a FROM b"}, statement{text: "UPDATE b SET a = 1"}, statement{text: "SELECT a FROM b"})),
				"writes":         after(sameQueries(3, "INSERT INTO log DEFAULT VALUES")),
				"of no table":    after(sameQueries(3, "SELECT now()")),
				"two requests":   after(sameQueries(1, "SELECT a FROM b"), sameQueries(1, "SELECT a FROM b")),
			},
		},
		{
			rule:  "query-heavy",
			bad:   after(differing(6), differing(7)),
			other: after(differing(9), differing(12)),
			text:  "Requests make 6.5 queries on average.",
			fixed: after(differing(20), differing(20), differing(20), differing(3)),
			nothing: map[string]*Subject{
				"the first":        after(differing(12)),
				"an exception":     after(differing(1), differing(1), differing(8)),
				"five":             after(differing(5), differing(5)),
				"with transaction": after(withTransaction(differing(5)), withTransaction(differing(5))),
			},
		},
		{
			rule:  "select-star",
			bad:   after(runs(statement{text: "SELECT * FROM logs_2024"}), runs(statement{text: "SELECT * FROM logs_2024"})),
			other: after(sameQueries(3, "SELECT l.* FROM logs_2024 l")),
			text:  "SELECT * reads all columns of logs_2024, 2 times recently.",
			fixed: after(sameQueries(3, "SELECT * FROM logs_2024"), runs(statement{text: "SELECT id FROM logs_2024"})),
			nothing: map[string]*Subject{
				"once":           after(runs(statement{text: "SELECT * FROM users"})),
				"two tables":     after(runs(statement{text: "SELECT * FROM users"}, statement{text: "SELECT * FROM posts"})),
				"a count":        after(sameQueries(3, "SELECT count(*) FROM users")),
				"a product":      after(sameQueries(3, "SELECT price * number FROM items")),
				"of the catalog": after(sameQueries(3, "SELECT * FROM pg_type")),
			},
		},
		{
			rule:  "high-rows",
			bad:   after(reads(500), reads(101)),
			other: after(reads(5000), reads(200), reads(300)),
			text:  "SELECT logs reads up to 500 rows, 2 times recently.",
			fixed: after(reads(500), reads(500), reads(100)),
			nothing: map[string]*Subject{
				"once":    after(reads(500)),
				"hundred": after(reads(100), reads(100)),
				"unknown": after(reads(-1), reads(-1)),
			},
		},
		{
			rule:  "cross-endpoint",
			bad:   last(everywhere(5, 1), 0),
			other: last(everywhere(6, 2), 5),
			text:  "SELECT sessions runs on 5 of 6 endpoints.",
			fixed: last(everywhere(2, 2), 1),
			nothing: map[string]*Subject{
				"two endpoints":   last(everywhere(2, 0), 0),
				"a third of them": last(everywhere(5, 11), 0),
				"four runs":       last(everywhere(4, 0), 0),
				"another one's":   last(everywhere(5, 1), 5),
			},
		},
	}
}

func withTransaction(r *capture.Request) *capture.Request {
	for _, text := range []string{"BEGIN", "COMMIT"} {
		r.Queries = append(r.Queries, statement{text: text}.query())
	}
	return r
}

// ofPage returns the request as the script of a page makes it.
func ofPage(r *capture.Request) *capture.Request {
	r.Sent.Header.Set("Referer", "http://localhost:3000/")
	return r
}

// paced returns requests for data so far apart, each URL in turn.
func paced(pause time.Duration, urls ...string) []*capture.Request {
	requests := []*capture.Request{page()}
	for i, url := range urls {
		requests = append(requests, at(time.Duration(i)*pause, ofPage(get(url))))
	}
	return requests
}

func otherExamples() []example {
	const ms = time.Millisecond
	usual := RunFigures{
		Requests: 10,
		P95:      100,
		Queries:  2,
	}
	few := RunFigures{
		Requests: 2,
		P95:      100,
		Queries:  2,
	}
	slowRun := RunFigures{
		Requests: 10,
		P95:      2000,
		Queries:  20,
	}
	slowly := func() *capture.Request { return takes(1200 * ms) }
	quickly := func() *capture.Request { return takes(90 * ms) }
	broken := func() *capture.Request { return fails("") }
	return []example{
		{
			rule:  "slow",
			bad:   earlier(after(slowly(), slowly()), usual, usual),
			other: earlier(after(takes(400*ms), takes(500*ms)), usual, usual, slowRun),
			text:  "Requests take 1.2 s on average, and before took at most 100 ms.",
			fixed: earlier(then(repeat(9, slowly), quickly()), usual, usual),
			nothing: map[string]*Subject{
				"one run":       earlier(after(slowly(), slowly()), usual),
				"short runs":    earlier(after(slowly(), slowly()), usual, few, few),
				"once":          earlier(after(slowly()), usual, usual),
				"an exception":  earlier(then(repeat(9, quickly), slowly()), usual, usual),
				"not noticed":   earlier(after(takes(250*ms), takes(250*ms)), usual, usual),
				"a long stream": earlier(after(streams(), streams()), usual, usual),
			},
		},
		{
			rule:  "regression",
			bad:   earlier(after(repeat(5, func() *capture.Request { return takes(300 * ms) })...), usual),
			other: earlier(after(repeat(6, slowly)...), usual, slowRun),
			text:  "95% of requests took at most 100 ms before, and now take up to 300 ms.",
			fixed: earlier(then(repeat(9, slowly), quickly()), usual),
			nothing: map[string]*Subject{
				"no run before": after(repeat(9, slowly)...),
				"few before":    earlier(after(repeat(9, slowly)...), few),
				"few now":       earlier(after(repeat(4, slowly)...), usual),
				"not half":      earlier(after(repeat(9, func() *capture.Request { return takes(2900 * ms) })...), slowRun),
				"not noticed":   earlier(after(repeat(9, func() *capture.Request { return takes(299 * ms) })...), usual),
			},
		},
		{
			rule:  "duplicate",
			bad:   after(paced(ms, "/api/a", "/api/a", "/api/a")...),
			other: after(paced(ms, "/api/a", "/api/a", "/api/b", "/api/a", "/api/a")...),
			text:  "One page loads the same data 3 times.",
			fixed: after(append(paced(ms, "/api/a", "/api/a", "/api/a"), paced(ms, "/api/b", "/api/a")...)...),
			nothing: map[string]*Subject{
				"strict mode":      after(paced(ms, "/api/a", "/api/b", "/api/a", "/api/b")...),
				"half of it":       after(paced(ms, "/api/a", "/api/b", "/api/a")...),
				"polling":          after(paced(time.Second, "/api/a", "/api/a", "/api/a", "/api/a")...),
				"second of a poll": after(paced(3*time.Second, "/api/a", "/api/a")...),
				"other pages":      after(paced(ms, "/api/a?page=1", "/api/a?page=2", "/api/a?page=3")...),
				"reloaded":         after(append(paced(ms, "/api/a", "/api/b"), paced(ms, "/api/a")...)...),
				"after a change":   then(append(paced(ms, "/api/a", "/api/a"), ofPage(posts("{}", "{}"))), ofPage(get("/api/a"))),
				"a program":        after(repeat(9, func() *capture.Request { return get("/api/a") })...),
				"pages":            after(page(), page(), page()),
			},
		},
		{
			rule:  "error",
			bad:   after(breaks("x is undefined")),
			other: after(breaks("y is undefined")),
			text:  "TypeError: x is undefined",
			fixed: after(breaks("x is undefined"), get("/items")),
			nothing: map[string]*Subject{
				"handled": after(handled()),
				"aborted": after(aborted()),
				"none":    after(fails("")),
			},
		},
		{
			rule:  "error-hotspot",
			bad:   after(get("/items"), get("/items"), broken()),
			other: after(repeat(4, broken)...),
			text:  "33% of recent requests failed (1 of 3).",
			fixed: then(repeat(9, broken), get("/items")),
			nothing: map[string]*Subject{
				"once":       after(broken()),
				"seldom":     then(repeat(5, func() *capture.Request { return get("/items") }), broken()),
				"refused":    after(replies(404, "", ""), replies(401, "", ""), replies(422, "", "")),
				"restarting": after(&capture.Request{End: capture.AppFailed}, &capture.Request{End: capture.AppFailed}),
			},
		},
		{
			rule:  "large-response",
			bad:   after(ofSize(60_000), ofSize(70_000)),
			other: after(ofSize(2_500_000), ofSize(2_500_000)),
			text:  "Responses have 65 kB on average.",
			fixed: after(ofSize(60_000), ofSize(900_000), ofSize(2_000)),
			nothing: map[string]*Subject{
				"once":         after(ofSize(60_000)),
				"the limit":    after(ofSize(LargeResponseBytes), ofSize(LargeResponseBytes)),
				"an exception": after(ofSize(100), ofSize(100), ofSize(100), ofSize(60_000)),
				"a file":       after(file(), file()),
			},
		},
		{
			rule:  "response-overfetch",
			bad:   after(returnsJSON(`{"data":[{"id":1,"ownerId":2,"a":1,"b":1,"c":1,"d":1,"e":1,"f":1},1,2],"total":3,"page":1}`)),
			other: after(returnsJSON(person(20))),
			text:  "A record in the response has 8 fields, 2 internal ids.",
			fixed: after(returnsJSON(person(20)), returnsJSON(person(3))),
			nothing: map[string]*Subject{
				"eleven fields": after(returnsJSON(person(9))),
				"seven fields":  after(returnsJSON(`{"aId":1,"bId":1,"c":null,"d":null,"e":null,"f":1,"g":1}`)),
				"few empty":     after(returnsJSON(`{"id":1,"c":null,"d":null,"e":1,"f":1,"g":1,"h":1,"i":1}`)),
				"an error":      after(replies(http.StatusBadRequest, "application/json", person(20))),
			},
		},
	}
}

func streams() *capture.Request {
	r := takes(time.Minute)
	r.Received.Media = "text/event-stream"
	return r
}

func handled() *capture.Request {
	r := breaks("Not Found")
	r.Status = http.StatusNotFound
	return r
}

func aborted() *capture.Request {
	r := breaks("aborted")
	r.Status = 0
	r.End = capture.ClientGone
	return r
}

func file() *capture.Request {
	r := ofSize(9_000_000)
	r.Received.Media = "application/octet-stream"
	return r
}

func TestLikelyN1(t *testing.T) {
	var same []statement
	for range 7 {
		same = append(same, statement{"SELECT a FROM b WHERE c = $1", "?"})
	}
	found := checkN1(after(runs(same...)))
	if len(found) != 1 || !found[0].Likely {
		t.Error(found)
	}
	same[0].text = "SELECT a FROM b WHERE c = $2"
	found = checkN1(after(runs(same...)))
	if len(found) != 1 || found[0].Likely {
		t.Errorf("of texts that differ: %v", found)
	}
}

func TestTablesTellProblemsApart(t *testing.T) {
	table := func(name string) Description {
		var statements []statement
		for range 2 {
			statements = append(statements, statement{text: "SELECT * FROM " + name})
		}
		r := runs(statements...)
		for i := range r.Queries {
			r.Queries[i].Table = name
		}
		found := checkSelectStar(after(r))
		if len(found) != 1 {
			t.Fatal(found)
		}
		return found[0].Description
	}
	if FindingID("select-star", "", table("logs_2024")) == FindingID("select-star", "", table("logs_2025")) {
		t.Error("two tables are one problem")
	}
}

func TestMoreQueriesThanBefore(t *testing.T) {
	before := RunFigures{
		Requests: 5,
		P95:      100,
		Queries:  2,
	}
	more := func() *capture.Request { return differing(4) }
	found := checkRegression(earlier(after(repeat(5, more)...), before))
	if len(found) != 1 || found[0].Description.Text != "Requests made 2 queries before, and now make 4." {
		t.Error(found)
	}
	found = checkRegression(earlier(after(repeat(5, func() *capture.Request { return differing(3) })...), before))
	if len(found) > 0 {
		t.Errorf("half more: %v", found)
	}
}

func TestSlowSaysWhere(t *testing.T) {
	usual := RunFigures{
		Requests: 10,
		P95:      100,
		Queries:  1,
	}
	slowly := func() *capture.Request {
		r := takes(time.Second)
		r.Queries = []capture.Query{{Took: 700 * time.Millisecond}}
		r.Fetches = []capture.Fetch{{Took: 200 * time.Millisecond}}
		return r
	}
	found := checkSlow(earlier(after(repeat(2, slowly)...), usual, usual))
	if len(found) != 1 {
		t.Fatal(found)
	}
	const want = "Requests take 1.0 s on average (queries 700 ms, calls 200 ms, the rest 100 ms), and before took at most 100 ms."
	if found[0].Description.Text != want {
		t.Error(found[0].Description.Text)
	}
}
