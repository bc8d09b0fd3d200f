package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/internal/peercred"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/capture"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// captured keeps requests in memory, the newest first.
type captured struct {
	mu  sync.Mutex
	all []capture.Request
}

// Requests implements Captured.
func (c *captured) Requests(capture.Filter) []*capture.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*capture.Request
	for i := range c.all {
		all = append(all, &c.all[i])
	}
	return all
}

// Request implements Captured.
func (c *captured) Request(id string) (*capture.Request, bool) {
	for _, r := range c.Requests(capture.Filter{}) {
		if r.ID == id {
			return r, true
		}
	}
	return nil, false
}

// Endpoints implements Captured.
func (c *captured) Endpoints() []capture.EndpointFigures {
	var all []capture.EndpointFigures
	for _, r := range c.Requests(capture.Filter{}) {
		known := func(f capture.EndpointFigures) bool { return f.Endpoint == r.Endpoint }
		if slices.ContainsFunc(all, known) {
			continue
		}
		total := capture.Figures{
			Requests: 40,
			Failed:   10,
			P50:      time.Millisecond,
			P95:      r.Took,
		}
		all = append(all, capture.EndpointFigures{
			Endpoint: r.Endpoint,
			Total:    total,
		})
	}
	return all
}

// Clear implements Captured.
func (c *captured) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = nil
}

// problems keeps findings in memory.
type problems struct {
	mu  sync.Mutex
	all []findings.Finding
}

// All implements Findings.
func (p *problems) All() []findings.Finding {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// Finding implements Findings.
func (p *problems) Finding(id string) (findings.Finding, bool) {
	for _, f := range p.All() {
		if f.ID == id {
			return f, true
		}
	}
	return findings.Finding{}, false
}

// Report implements Findings.
func (p *problems) Report(id string, status findings.FixStatus, note string) (findings.Finding, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.all {
		if p.all[i].ID == id {
			p.all[i].Fix = &findings.Fix{Status: status, Note: note}
			return p.all[i], nil
		}
	}
	return findings.Finding{}, errors.New("gone")
}

// Clear implements Findings.
func (p *problems) Clear() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.all)
	p.all = nil
	return n
}

// began is when the first request of the tests was sent.
var began = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// request returns a request, which began some seconds after the first one.
func request(id, method, url string, status, second int) capture.Request {
	path, _, _ := strings.Cut(url, "?")
	return capture.Request{
		ID:       id,
		Method:   method,
		URL:      url,
		Endpoint: method + " " + path,
		Client:   "browser",
		Status:   status,
		Started:  began.Add(time.Duration(second) * time.Second),
		Took:     20 * time.Millisecond,
		End:      capture.Complete,
		Evidence: capture.Response | capture.Queried,
	}
}

// A house is a server on a listener, with what it serves.
type house struct {
	*Server

	captured *captured
	problems *problems
	url      string
	client   *Client
}

// serve begins a server.
func serve(t *testing.T, change func(o *Options)) *house {
	t.Helper()
	h := &house{
		captured: &captured{},
		problems: &problems{},
	}
	users := request("u2", "GET", "/users?page=2", 200, 2)
	users.Sent.Header = http.Header{"Cookie": {"sid=[masked: 24 characters]"}, "Accept": {"a", "b"}}
	users.Received.Body = []byte(`{"Name":"Ada"}`)
	users.Queries = []capture.Query{{At: users.Started.Add(time.Millisecond), Took: 4 * time.Millisecond, System: "postgresql", Text: "select 1", Rows: -1}}
	users.Fetches = []capture.Fetch{{At: users.Started, Took: 2 * time.Millisecond, Method: "GET", URL: "http://rates/", Status: 200}}
	users.Logs = []capture.Log{{At: users.Started.Add(2 * time.Millisecond), Text: "hello", From: "stdout"}}
	users.Faults = []capture.Fault{{At: users.Started.Add(3 * time.Millisecond), Name: "TypeError", Message: "x"}}
	h.captured.all = []capture.Request{
		request("o1", "POST", "/orders", 503, 10),
		request("u3", "GET", "/users?page=2", 404, 3),
		users,
		request("u1", "GET", "/users", 200, 1),
	}
	h.problems.all = []findings.Finding{
		{ID: "f1", Rule: "n1", Severity: rules.Critical, Endpoint: "GET /users", Title: "N+1", State: findings.Open, FirstSeen: began, Requests: []string{"u2"}},
		{ID: "f2", Rule: "insecure-cookie", Severity: rules.Warning, Endpoint: rules.Global, State: findings.Resolved, ResolvedAt: began},
	}
	o := Options{
		Captured: h.captured,
		Findings: h.problems,
		Peer:     peercred.MayBeSameUser,
		Log:      slog.New(slog.DiscardHandler),
		Earlier: func() map[string][]rules.RunFigures {
			return map[string][]rules.RunFigures{"GET /users": {{Requests: 9, P95: 10, Queries: -1}, {Requests: 9, P95: 30, Queries: 2}}}
		},
	}
	if change != nil {
		change(&o)
	}
	h.Server = NewServer(o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }() // ends by Shutdown
	t.Cleanup(func() {
		check.OK(t, h.Shutdown(context.Background()))
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	h.url = "http://" + l.Addr().String()
	h.client = NewClient(h.url, Timeouts{time.Minute, time.Minute, time.Minute})
	return h
}

// send sends a request with headers, in pairs, and returns the answer.
func (h *house) send(t *testing.T, method, path, body string, headers ...string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader(body))
	check.OK(t, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	check.OK(t, err)
	defer func() { check.OK(t, answer.Body.Close()) }()
	all, err := io.ReadAll(answer.Body)
	check.OK(t, err)
	return answer.StatusCode, strings.TrimSpace(string(all))
}

// TestRequests: requests are chosen as brakit does, and by endpoint and id.
func TestRequests(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	for query, want := range map[string]string{
		"":                             "4: o1 u3 u2 u1",
		"?limit=1":                     "4: o1",
		"?limit=2&offset=1":            "4: u3 u2",
		"?limit=0":                     "4: o1 u3 u2 u1",
		"?limit=-5":                    "4: o1",
		"?limit=x&offset=-1":           "4: o1 u3 u2 u1",
		"?offset=9":                    "4:",
		"?method=get":                  "3: u3 u2 u1",
		"?status=404":                  "1: u3",
		"?status=2xx":                  "2: u2 u1",
		"?search=PAGE":                 "2: u3 u2",
		"?search=ada":                  "1: u2",
		"?id=u1":                       "1: u1",
		"?endpoint=GET+/users&limit=1": "3: u3",
	} {
		_, text := h.send(t, "GET", PathRequests+query, "")
		var list RequestList
		check.OK(t, json.Unmarshal([]byte(text), &list))
		got := fmt.Sprint(list.Total, ":")
		for _, r := range list.Requests {
			got += " " + r.ID
		}
		if got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	_, text := h.send(t, "GET", PathRequests+"?id=u2", "")
	want := `{"total":1,"requests":[{"id":"u2","method":"GET","url":"/users?page=2","path":"/users",` +
		`"headers":{"accept":"a, b","cookie":"sid=[masked: 24 characters]"},"requestBody":null,"statusCode":200,"responseHeaders":{},` +
		`"responseBody":"{\"Name\":\"Ada\"}","startedAt":1893553447000,"durationMs":20,"responseSize":0,"isStatic":false,"isHealthCheck":false,` +
		`"endpoint":"GET /users","end":"complete","evidence":["response","queried"]}]}`
	if text != want {
		t.Errorf("got\n%s, want\n%s", text, want)
	}
}

// TestActivity: what the app told of a request is there by kind, and in the order of time.
func TestActivity(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	activity, err := h.client.Activity(t.Context(), "u2")
	check.OK(t, err)
	kinds := ""
	for _, e := range activity.Timeline {
		kinds += e.Type + " "
	}
	if kinds != "fetch query log error " || activity.Total != 4 || activity.Counts != (Counts{1, 1, 1, 1}) {
		t.Errorf("got %s, %+v", kinds, activity.Counts)
	}
	for path, want := range map[string]string{
		PathQueries:                            `"sql":"select 1"`,
		PathFetches:                            `"url":"http://rates/"`,
		PathLogs + "?requestId=u2":             `"message":"hello"`,
		PathErrors:                             `"name":"TypeError"`,
		PathLogs + "?requestId=u1":             `{"total":0,"entries":[]}`,
		PathActivity + "?requestId=none":       `{"requestId":"none","total":0,"timeline":[],"counts":{`,
		PathActivity + "?requestIds=u1,u2,,no": `"requestIds":["u1","u2","no"]`,
	} {
		if status, text := h.send(t, "GET", path, ""); status != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", path, status, text, want)
		}
	}
	if status, text := h.send(t, "GET", PathActivity, ""); status != 400 || !strings.Contains(text, "requestId") {
		t.Errorf("without an id: %d %s", status, text)
	}
}

// TestLists: findings by state and category, figures, and flows.
func TestLists(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	for path, want := range map[string]string{
		PathFindings:                         `{"total":2,"findings":[{"issueId":"f1","state":"open","source":"passive","category":"performance","issue":{`,
		PathFindings + "?state=resolved":     `"issueId":"f2"`,
		PathFindings + "?state=nonsense":     `"total":2`,
		PathInsights + "?category=security":  `{"issues":[{"issueId":"f2","state":"resolved"`,
		PathSecurity:                         `{"issues":[{"issueId":"f2"`,
		PathMetrics:                          `{"endpoints":[{"endpoint":"GET /users","sessions":[{"sessionId":"1",`,
		PathMetrics + "?endpoint=GET+/other": `{"endpoints":[]}`,
		PathMetricsLive:                      `"summary":{"p95Ms":20,"medianMs":1,"errorRate":0.25,"avgQueryCount":0,"totalRequests":40,`,
		PathFlows:                            `{"total":2,"flows":[{"id":"flow-o1","label":"POST /orders"`,
	} {
		if status, text := h.send(t, "GET", path, ""); status != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", path, status, text, want)
		}
	}
	var live LiveList
	_, text := h.send(t, "GET", PathMetricsLive, "")
	check.OK(t, json.Unmarshal([]byte(text), &live))
	endpoints := live.Endpoints
	users := endpoints[slices.IndexFunc(endpoints, func(e LiveEndpoint) bool { return e.Endpoint == "GET /users" })]
	if b := users.BaselineP95Ms; b == nil || *b != 30 || len(users.Requests) != 3 || users.Requests[0].Timestamp > users.Requests[2].Timestamp {
		t.Errorf("got %+v", users)
	}
	short, total, err := h.client.Endpoints(t.Context(), EndpointChoice{})
	check.OK(t, err)
	isUsers := func(e LiveEndpoint) bool {
		return e.Endpoint == users.Endpoint && e.BaselineP95Ms != nil && *e.BaselineP95Ms == 30 && len(e.Requests) == 0
	}
	if total != len(endpoints) || len(short) != total || !slices.ContainsFunc(short, isUsers) {
		t.Errorf("got %+v", short)
	}
	busiest := EndpointChoice{
		Order: ByRequests,
		Limit: 1,
	}
	first, total, err := h.client.Endpoints(t.Context(), busiest)
	if err != nil || len(first) != 1 || total != len(endpoints) {
		t.Errorf("the first of %d is %+v, %v", total, first, err)
	}
	totals, err := h.client.Totals(t.Context())
	check.OK(t, err)
	if totals.Endpoints != len(endpoints) || totals.Requests == 0 {
		t.Errorf("got %+v", totals)
	}
	if _, text := h.send(t, "GET", PathFlows, ""); !strings.Contains(text, `"redundancyPct":33`) || !strings.Contains(text, `"hasErrors":true`) {
		t.Errorf("flows: %s", text)
	}
}

// TestReport: a fix is reported, and what is wrong with a report is said.
func TestReport(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	for body, want := range map[string]string{
		`{"findingId":"f1","status":"fixed","notes":"done"}`:                              `200 {"ok":true}`,
		`{"findingId":"f2","status":"fixing"}`:                                            `200 {"ok":true}`,
		`{"findingId":"f1","status":"perhaps","notes":"x"}`:                               "status must be fixing, fixed or wont_fix",
		`{"status":"fixed"}`:                                                              "findingId is missing",
		`{"findingId":"nope","status":"fixed"}`:                                           "404",
		`{"findingId":`:                                                                   "400",
		`{"findingId":"f1","notes":"` + strings.Repeat("x", 70_000) + `"}`:                "413",
		`{"findingId":"f1","status":"fixed","notes":"` + strings.Repeat("x", 3000) + `"}`: "2000 bytes",
	} {
		status, text := h.send(t, "POST", PathReport, body)
		if got := fmt.Sprint(status, " ", text); !strings.Contains(got, want) {
			t.Errorf("%.80s: %s, want %s", body, got, want)
		}
	}
	list, _, err := h.client.Findings(t.Context(), Choice{})
	check.OK(t, err)
	if *list[0].AIStatus != "fixed" || *list[0].AINotes != "done" || list[1].AIStatus != nil {
		t.Errorf("findings %+v", list)
	}
	if status, _ := h.send(t, "POST", PathReport, "{}", "Content-Type", "text/plain"); status != http.StatusUnsupportedMediaType {
		t.Errorf("a form's body: %d", status)
	}
	if status, _ := h.send(t, "GET", PathClear, ""); status != http.StatusMethodNotAllowed {
		t.Errorf("GET of clear: %d", status)
	}
	check.OK(t, h.client.Clear(t.Context()))
	list, _, err = h.client.Findings(t.Context(), Choice{})
	if err != nil || len(list) > 0 || len(h.captured.Requests(capture.Filter{})) > 0 {
		t.Errorf("after clear: %v, %v", list, err)
	}
}

// TestRefusals: the app's own pages, foreign names and other users read nothing; Node's fetch does.
func TestRefusals(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	port := h.url[strings.LastIndex(h.url, ":"):]
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{nil, 200},
		{[]string{"Sec-Fetch-Mode", "cors"}, 200},
		{[]string{"Sec-Fetch-Site", "none"}, 200},
		{[]string{"Host", "localhost" + port}, 200},
		{[]string{"Host", "[::1]" + port}, 200},
		{[]string{"Sec-Fetch-Site", "same-site"}, 403},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"Origin", "http://localhost:3000"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Host", "evil.example" + port}, 403},
		{[]string{"Host", "127.0.0.1.evil.example"}, 403},
		{[]string{"Host", "192.168.1.2" + port}, 403},
	} {
		if status, text := h.send(t, "GET", PathRequests, "", c.headers...); status != c.want {
			t.Errorf("%q: %d %s, want %d", c.headers, status, text, c.want)
		}
	}
	other := serve(t, func(o *Options) { o.Peer = func(net.Conn) bool { return false } })
	if status, _ := other.send(t, "GET", PathRequests, ""); status != 403 {
		t.Errorf("another user's process: %d", status)
	}
}

// replayer sends nothing.
type replayer struct{}

// Replay implements Replayer.
func (replayer) Replay(_ context.Context, endpoint string) (Replayed, error) {
	if endpoint != "GET /users" {
		return Replayed{}, ErrNoReplay
	}
	return Replayed{RequestID: "u4", Before: 200, Status: 500}, nil
}

// TestMounted: what others serve is there if it was given.
func TestMounted(t *testing.T) {
	t.Parallel()
	h := serve(t, func(o *Options) {
		o.Replay = replayer{}
		o.Ingest = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	})
	got, err := h.client.Replay(t.Context(), "GET /users")
	if err != nil || got != (Replayed{"u4", 200, 500}) {
		t.Errorf("replay: %+v, %v", got, err)
	}
	_, err = h.client.Replay(t.Context(), "GET /")
	if refused, ok := errors.AsType[*StatusError](err); !ok || refused.Status != http.StatusNotFound || refused.Text != ErrNoReplay.Error() {
		t.Errorf("replay of nothing: %v", err)
	}
	if status, _ := h.send(t, "POST", PathIngest, "{}"); status != http.StatusNoContent {
		t.Errorf("ingest: %d", status)
	}
	_, err = serve(t, nil).client.Replay(t.Context(), "GET /users")
	if refused, ok := errors.AsType[*StatusError](err); !ok || refused.Status != http.StatusNotFound {
		t.Errorf("replay that is not offered: %v", err)
	}
}

// TestEvents: requests and findings are streamed, under brakit's names, until the server ends.
func TestEvents(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+PathEvents, nil)
	check.OK(t, err)
	answer, err := http.DefaultClient.Do(r)
	check.OK(t, err)
	defer func() { check.OK(t, answer.Body.Close()) }()
	lines := bufio.NewScanner(answer.Body)
	lines.Scan()
	if lines.Text() != ":ok" || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("begins with %q", lines.Text())
	}
	users, _ := h.captured.Request("u2")
	h.RequestCaptured(users)
	h.FindingsChanged()
	var got []string
	for len(got) < 6 && lines.Scan() {
		name, isEvent := strings.CutPrefix(lines.Text(), "event: ")
		switch {
		case isEvent:
			got = append(got, name)
		case len(got) == 0 && strings.HasPrefix(lines.Text(), `data: {"id":"u2"`):
			got = append(got, "request")
		}
	}
	if fmt.Sprint(got) != "[request fetch query log error_event issues]" {
		t.Errorf("streamed %v", got)
	}
	check.OK(t, h.Shutdown(t.Context()))
	for lines.Scan() {
	}
	check.OK(t, lines.Err())
}

// TestChoiceOfFindings: what is chosen comes with how many there are of each kind, the worst and latest first.
func TestChoiceOfFindings(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var problems []findings.Finding
	for i, severity := range []rules.Severity{rules.Info, rules.Warning, rules.Critical, rules.Warning, rules.Critical} {
		problems = append(problems, findings.Finding{
			ID:       fmt.Sprint("f", i),
			Rule:     "slow",
			Severity: severity,
			Endpoint: "GET /",
			State:    findings.Open,
			LastSeen: now.Add(time.Duration(i) * time.Second),
		})
	}
	problems[3].State = findings.Resolved
	problems[4].Fix = &findings.Fix{Status: findings.WontFix}
	h := serve(t, nil)
	h.problems.all = problems
	for _, c := range []struct {
		choice Choice
		want   string
	}{
		{Choice{}, "f0 f1 f2 f3 f4"},
		{Choice{Limit: 3}, "f4 f2 f3"},
		{Choice{Pending: true, Limit: 9}, "f2 f1 f0"},
		{Choice{State: findings.Resolved}, "f3"},
		{Choice{Severities: []rules.Severity{rules.Warning, rules.Info}, Limit: 9}, "f3 f1 f0"},
		{Choice{ID: "f2"}, "f2"},
		{Choice{ID: "none"}, ""},
		{Choice{Endpoint: "/", Severities: []rules.Severity{rules.Info}}, "f0"},
		{Choice{Endpoint: "GET /other"}, ""},
	} {
		list, tallies, err := h.client.Findings(t.Context(), c.choice)
		check.OK(t, err)
		var ids []string
		for _, f := range list {
			ids = append(ids, f.IssueID)
		}
		all := 0
		for _, one := range tallies {
			all += one.Count
		}
		if got := strings.Join(ids, " "); got != c.want || all != len(problems) {
			t.Errorf("%+v: %q of %d, want %q", c.choice, got, all, c.want)
		}
	}
}
