package analysis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/capture"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// observer is an analyst with a real store and real figures.
type observer struct {
	t       testing.TB
	analyst *Analyst
	store   *findings.Store
	history *findings.History
	logged  *bytes.Buffer
	next    int // the number of the next request
}

func newObserver(t testing.TB, list ...rules.Rule) *observer {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".brakit")
	o := &observer{
		t:      t,
		logged: &bytes.Buffer{},
	}
	log := slog.New(slog.NewTextHandler(o.logged, nil))
	var err error
	o.store, err = findings.OpenStore(dir, anyStore{}, log)
	check.OK(t, err)
	o.history, err = findings.OpenHistory(dir, o.store, log)
	check.OK(t, err)
	o.analyst = New(Options{
		Findings: o.store,
		History:  o.history,
		Rules:    list,
		Log:      log,
	})
	return o
}

// request returns the next request to an endpoint, which began a second after the one before, with queries.
func (o *observer) request(endpoint string, queries ...string) capture.Request {
	o.next++
	r := capture.Request{
		ID:       fmt.Sprint(o.next),
		Run:      1,
		Client:   "browser",
		Endpoint: endpoint,
		Started:  time.Date(2026, 1, 1, 0, 0, o.next, 0, time.UTC),
		Took:     time.Millisecond,
		Status:   200,
		End:      capture.Complete,
		Evidence: capture.Response | capture.Traced | capture.Queried,
	}
	for _, q := range queries {
		r.Queries = append(r.Queries, capture.Query{Shape: q})
	}
	return r
}

// look has the analyst look at requests.
func (o *observer) look(settled bool, requests ...capture.Request) {
	for _, r := range requests {
		o.analyst.look(&capture.Look{
			Request: &r,
			Settled: settled,
		})
	}
}

// only returns the only finding.
func (o *observer) only() findings.Finding {
	o.t.Helper()
	all := o.store.All()
	if len(all) != 1 {
		o.t.Fatalf("there are %d findings: %+v", len(all), all)
	}
	return all[0]
}

// list is a source of some looks, and an error after them.
type list struct {
	looks []capture.Look
	err   error
}

func (l *list) Next(ctx context.Context) (capture.Look, error) {
	if err := ctx.Err(); err != nil {
		return capture.Look{}, err
	}
	if len(l.looks) == 0 {
		return capture.Look{}, l.err
	}
	next := l.looks[0]
	l.looks = l.looks[1:]
	return next, nil
}

// heavy finds more than five queries a request, on average of at least two.
func heavy() rules.Rule {
	return rules.Rule{
		ID:       "heavy",
		Severity: rules.Warning,
		Title:    "Many queries",
		Needs:    capture.Queried,
		Check: func(s *rules.Subject) []rules.Match {
			total := 0
			for _, r := range s.Recent {
				total += len(r.Queries)
			}
			if len(s.Recent) < 2 || total <= 5*len(s.Recent) || len(s.Request.Queries) <= 5 {
				return nil
			}
			return []rules.Match{{Description: rules.Describe("%s queries", rules.Count(total/len(s.Recent)))}}
		},
	}
}

// everywhere finds a query that at least three endpoints send, of at least half of all.
func everywhere() rules.Rule {
	return rules.Rule{
		ID:       "everywhere",
		Severity: rules.Warning,
		Title:    "One query everywhere",
		Needs:    capture.Queried,
		Check: func(s *rules.Subject) []rules.Match {
			var matches []rules.Match
			for _, q := range s.Request.Queries {
				endpoints := 0
				for _, r := range s.Latest {
					if slices.ContainsFunc(r.Queries, func(other capture.Query) bool { return other.Shape == q.Shape }) {
						endpoints++
					}
				}
				if endpoints >= 3 && 2*endpoints >= len(s.Latest) {
					matches = append(matches, rules.Match{
						Endpoint:    rules.Global,
						Description: rules.Describe("%s at %s endpoints", q.Shape, rules.Count(endpoints)),
					})
				}
			}
			return matches
		},
	}
}

// TestPanickingRule: the other rules go on, a rule's panics are counted, and the first one is logged.
func TestPanickingRule(t *testing.T) {
	t.Parallel()
	always := rules.Rule{
		ID:       "always",
		Severity: rules.Info,
		Check:    func(*rules.Subject) []rules.Match { return []rules.Match{{Description: rules.Describe("always")}} },
	}
	broken := rules.Rule{
		ID:    "broken",
		Check: func(s *rules.Subject) []rules.Match { panic("rule on " + s.Request.ID) },
	}
	o := newObserver(t, broken, always)
	requests := []capture.Request{o.request("GET /"), o.request("GET /"), o.request("GET /")}
	first, second, third := &requests[0], &requests[1], &requests[2]
	stopped := errors.New("no more")
	o.analyst.options.Source = &list{
		looks: []capture.Look{{Request: first}, {Request: first}, {Request: second}, {Request: third}},
		err:   stopped,
	}
	if err := o.analyst.Run(t.Context()); !errors.Is(err, stopped) {
		t.Errorf("it ended with %v", err)
	}
	if f := o.only(); f.Rule != "always" || f.Occurrences != 3 {
		t.Errorf("found is %+v", f)
	}
	if panics := o.analyst.Panics(); len(panics) != 1 || panics["broken"] != 4 {
		t.Errorf("counted are %v", panics)
	}
	if logged := o.logged.String(); strings.Count(logged, "\n") != 1 || !strings.Contains(logged, "rule on 1") || !strings.Contains(logged, "rule=broken") {
		t.Errorf("logged is %s", logged)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.analyst.Run(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// TestLoad: rules look at 300 requests a second at most, and at fewer if that takes long.
func TestLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes time.Duration
		want  int // looks a second
	}{
		{0, maxLooks},
		{time.Millisecond / 2, maxLooks},
		{10 * time.Millisecond, 25},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := newObserver(t, rules.Rule{
				ID: "takes its time",
				Check: func(*rules.Subject) []rules.Match {
					time.Sleep(c.takes)
					return nil
				},
			})
			const seconds = 4
			source := &list{err: errors.New("no more")}
			for range c.want*seconds + 1 {
				r := o.request("GET /")
				source.looks = append(source.looks, capture.Look{Request: &r})
			}
			o.analyst.options.Source = source
			begun := time.Now()
			if err := o.analyst.Run(t.Context()); !errors.Is(err, source.err) {
				t.Fatal(err)
			}
			if took := time.Since(begun).Truncate(time.Second); took != seconds*time.Second {
				t.Errorf("%d looks of %v took %v", c.want*seconds+1, c.takes, took)
			}
		})
	}
}

// TestOverTheLimitIsNotClean: a request that is itself over a limit proves nothing, when it is the first of a run or
// when others bring the average down; and until a request is settled, others do not count it as a good one.
func TestOverTheLimitIsNotClean(t *testing.T) {
	t.Parallel()
	o := newObserver(t, heavy())
	ten := strings.Fields("a b c d e f g h i j")
	o.look(true, o.request("GET /", ten...), o.request("GET /", ten...))
	for range 30 { // a request before it is settled, whose queries have not come yet
		o.look(false, o.request("GET /"))
	}
	o.look(true, o.request("GET /", ten...))
	if f := o.only(); f.Occurrences != 2 || f.CleanHits != 0 {
		t.Errorf("found is %+v", f)
	}
	for run := range 10 {
		r := o.request("GET /", ten...)
		r.Run = run + 2
		o.look(true, r)
	}
	if f := o.only(); f.Occurrences != 2 || f.CleanHits != 0 {
		t.Errorf("ten first requests of a run: %+v", f)
	}
	o.look(true, o.request("GET /", ten...)) // of a run before
	if f := o.only(); f.Occurrences != 2 || f.CleanHits != 0 {
		t.Errorf("a request of an earlier run: %+v", f)
	}
	last := func(queries ...string) capture.Request {
		r := o.request("GET /", queries...)
		r.Run = 11
		return r
	}
	o.look(true, last("a"), last("a"), last("a"), last(ten...))
	if f := o.only(); f.CleanHits != 3 {
		t.Errorf("%d clean hits, want 3", f.CleanHits)
	}
	o.look(true, last("a"), last("a"))
	if f := o.only(); f.State != findings.Resolved {
		t.Errorf("it is not resolved: %+v", f)
	}
}

// TestWholeAppAfterRestart: after a restart of the app, until all endpoints that showed a problem together have been
// requested, it is not resolved; and then only if it is gone.
func TestWholeAppAfterRestart(t *testing.T) {
	t.Parallel()
	o := newObserver(t, everywhere())
	visit := func(run int, query string, endpoints ...string) {
		for _, endpoint := range endpoints {
			r := o.request(endpoint, query)
			r.Run = run
			o.look(false, r)
			o.look(true, r)
		}
	}
	visit(1, "session", "GET /a", "GET /b", "GET /c")
	if f := o.only(); f.Endpoint != rules.Global || f.Occurrences != 1 {
		t.Errorf("found is %+v", f)
	}
	visit(1, "other", "GET /d")
	visit(2, "session", slices.Repeat([]string{"GET /c", "GET /b"}, 10)...)
	if f := o.only(); f.State != findings.Open {
		t.Errorf("two of three endpoints: %+v", f)
	}
	visit(2, "session", "GET /a")
	if f := o.only(); f.State != findings.Open || f.CleanHits != 0 || f.Occurrences != 2 {
		t.Errorf("the third endpoint: %+v", f)
	}
	visit(3, "nothing", "GET /a", "GET /d", "GET /d", "GET /d", "GET /d", "GET /d")
	visit(3, "session", "GET /b", "GET /b", "GET /b", "GET /c")
	if f := o.only(); f.State != findings.Resolved {
		t.Errorf("gone at one of three: %+v", f)
	}
}

// TestRecentAndLatest: what rules see beside a request.
func TestRecentAndLatest(t *testing.T) {
	t.Parallel()
	var saw []string
	o := newObserver(t, rules.Rule{
		ID: "spy",
		Check: func(s *rules.Subject) []rules.Match {
			var recent []string
			for _, r := range s.Recent {
				recent = append(recent, r.ID)
			}
			if s.Recent[len(s.Recent)-1] != s.Request || s.Latest[s.Request.Endpoint] != s.Request {
				t.Errorf("request %s is not the last one", s.Request.ID)
			}
			saw = append(saw, fmt.Sprint(strings.Join(recent, " "), "; ", len(s.Latest)))
			return nil
		},
	})
	first := o.request("GET /")
	first.Received.Body = []byte("body")
	second := o.request("GET /")
	other := o.request("GET /other")
	o.look(false, first, second, other)
	o.look(true, second, first, other)
	o.look(false, second)
	want := []string{"1; 1", "2; 1", "3; 1", "2; 1", "2 1; 1", "3; 2", "1 2; 2"}
	if !slices.Equal(saw, want) {
		t.Errorf("the rule saw %q, want %q", saw, want)
	}
	if body := o.analyst.windows.kept["1"].request.Received.Body; body != nil || first.Received.Body == nil {
		t.Errorf("the window keeps the body %q", body)
	}
	saw = nil
	for range 30 {
		o.look(true, o.request("GET /"))
	}
	if got := strings.Count(saw[len(saw)-1], " "); got != recentRequests {
		t.Errorf("the last request was seen among %d", got)
	}
}

// TestFlow: the requests of a client, as far as the gaps are short.
func TestFlow(t *testing.T) {
	t.Parallel()
	var saw []string
	o := newObserver(t, rules.Rule{
		ID: "spy",
		Check: func(s *rules.Subject) []rules.Match {
			var flow []string
			for _, r := range s.Flow {
				flow = append(flow, r.ID)
			}
			saw = append(saw, strings.Join(flow, " "))
			return nil
		},
	})
	request := func(client string, second int) capture.Request {
		r := o.request("GET /")
		r.Client = client
		r.Started = time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC)
		return r
	}
	slow := request("a", 12)
	late := request("a", 3)
	o.look(false,
		request("a", 0), request("a", 5), request("b", 6), request("a", 10), // 3 to 6
		request("a", 16), request("", 16), request("", 17), // 7 to 9
		slow, late, request("a", 30)) // 1, 2 and 10
	o.look(true, late)
	want := []string{"3", "3 4", "5", "3 4 6", "7", "8", "9", "3 4 6 7 1", "3 4 2", "10", "3 4 2"}
	// 7 begins six seconds after 6, but not after 1, which is known only later.
	if !slices.Equal(saw, want) {
		t.Errorf("the rule saw %q, want %q", saw, want)
	}
}

// TestWindowsAreBounded: by requests, by bytes and by endpoints, and a new run has none.
func TestWindowsAreBounded(t *testing.T) {
	t.Parallel()
	o := newObserver(t)
	for i := range 10_000 {
		r := o.request(fmt.Sprint("GET /", i%1000))
		r.Client = fmt.Sprint(i % 7000)
		o.look(i%3 > 0, r)
	}
	w := o.analyst.windows
	if len(w.queue) > maxRequests || len(w.kept) != len(w.queue) || len(w.settled) > maxEndpoints || len(w.latest) != len(w.settled) || len(w.clients) > maxRequests || len(w.arrived) > maxRequests {
		t.Errorf("%d requests, %d endpoints, %d clients", len(w.queue), len(w.settled), len(w.clients))
	}
	for i := range 100 {
		r := o.request("GET /large")
		r.Queries = []capture.Query{{Text: strings.Repeat("q", 1<<20)}}
		o.look(true, r)
		if w.bytes > maxBytes {
			t.Fatalf("after %d large requests there are %d bytes", i, w.bytes)
		}
	}
	bytes := 0
	for _, k := range w.kept {
		bytes += k.bytes
	}
	if bytes != w.bytes || len(w.kept) == 0 {
		t.Errorf("%d bytes in %d requests are counted as %d", bytes, len(w.kept), w.bytes)
	}
	for range 2 * maxFlow {
		o.look(true, o.request("GET /"))
	}
	if got := len(w.clients["browser"]); got > maxFlow {
		t.Errorf("a client has %d requests", got)
	}
	r := o.request("GET /")
	r.Run = 2
	o.look(true, r)
	if w := o.analyst.windows; len(w.kept) != 1 || len(w.latest) != 1 {
		t.Errorf("a new run begins with %d requests", len(w.kept))
	}
}

// anyStore trusts each store.
type anyStore struct{}

// Trusted implements findings.Stores.
func (anyStore) Trusted(string) bool { return true }

// Remember implements findings.Stores.
func (anyStore) Remember(string) {}
