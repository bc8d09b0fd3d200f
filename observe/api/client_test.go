package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/findings"
)

// brakit answers as an app that contains brakit: it knows neither ids nor endpoints as filters.
func brakit(t *testing.T, answers map[string]string) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.URL.Query().Get("limit") == "1" && r.URL.Path == PathRequests {
			text = text[:strings.Index(text, "},{")+1] + "]}"
		}
		_, _ = fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return NewClient(s.URL+"/", Timeouts{time.Minute, time.Minute, time.Minute})
}

const someRequests = `{"total":3,"requests":[
	{"id":"c","method":"GET","url":"/","path":"/","statusCode":200,"requestBody":null,"startedAt":12.5,"durationMs":3},
	{"id":"b","method":"GET","url":"/users/7?x=1","path":"/users/7","statusCode":200,"startedAt":11,"durationMs":3},
	{"id":"a","method":"POST","url":"/users/7","path":"/users/7","statusCode":201,"startedAt":10,"durationMs":3}]}`

// TestClientOfBrakit reads what brakit answers, of this version and of older ones.
func TestClientOfBrakit(t *testing.T) {
	t.Parallel()
	issue := func(id, state string) string {
		return `{"issueId":"` + id + `","state":"` + state + `","category":"security","issue":{"severity":"critical","rule":"x","title":"T","desc":"D","hint":"H"},"resolvedAt":null,"aiStatus":"wont_fix"}`
	}
	c := brakit(t, map[string]string{
		PathRequests: strings.ReplaceAll(someRequests, ",\n\t{", ",{"),
		PathFindings: `{"total":5,"findings":[` + strings.Join([]string{
			issue("1", "open"), issue("2", "stale"), issue("3", "regressed"), issue("4", "fixing"), issue("5", "resolved"),
		}, ",") + `,{"findingId":"6","state":"open","finding":{"severity":"warning","title":"Old"}}]}`,
		PathMetricsLive: `{"endpoints":[{"endpoint":"GET /","requests":[],"summary":{"p95Ms":12,"errorRate":0.5,"avgQueryCount":2,"totalRequests":4},"baselineP95Ms":null}]}`,
		PathActivity:    `{"requestId":"c","total":1,"timeline":[{"type":"query","timestamp":1,"data":{"driver":"pg","sql":"select 1","durationMs":2,"rowCount":3}}],"counts":{"queries":1}}`,
		PathReport:      `{"ok":true}`,
		PathClear:       `{"cleared":true}`,
	})
	ctx := t.Context()
	check.OK(t, c.Alive(ctx))
	list, _, err := c.Findings(ctx, Choice{})
	check.OK(t, err)
	states := ""
	for _, f := range list {
		states += f.IssueID + " " + string(f.Now()) + " " + f.Issue.Title + "; "
	}
	if states != "1 open T; 2 open T; 3 open T; 4 fixing T; 5 resolved T; 6 open Old; " {
		t.Errorf("findings %s", states)
	}
	byID, err := c.Request(ctx, "a")
	if err != nil || byID.StatusCode != http.StatusCreated {
		t.Errorf("by id: %+v, %v", byID, err)
	}
	for endpoint, want := range map[string]string{"GET /users/:id": "b", "POST /users/:id": "a", "/users/7": "b", "get /": "c"} {
		latest, err := c.Latest(ctx, endpoint)
		if err != nil || latest.ID != want {
			t.Errorf("the latest of %s is %s, %v", endpoint, latest.ID, err)
		}
	}
	if _, err := c.Latest(ctx, "PUT /users/:id"); !errors.Is(err, ErrNoRequest) {
		t.Errorf("of no endpoint: %v", err)
	}
	if _, err := c.Request(ctx, "z"); !errors.Is(err, ErrNoRequest) {
		t.Errorf("of no id: %v", err)
	}
	endpoints, total, err := c.Endpoints(ctx, EndpointChoice{Limit: 1})
	if err != nil || total == 0 || len(endpoints) != 1 || endpoints[0].Summary.TotalRequests != 4 {
		t.Errorf("endpoints %+v, %v", endpoints, err)
	}
	activity, err := c.Activity(ctx, "c")
	if err != nil || activity.Timeline[0].Data.SQL != "select 1" || *activity.Timeline[0].Data.RowCount != 3 {
		t.Errorf("activity %+v, %v", activity, err)
	}
	check.OK(t, c.Report(ctx, "1", findings.Fixed, "x"))
	check.OK(t, c.Clear(ctx))

	old := brakit(t, map[string]string{PathInsights: `{"issues":[` + issue("1", "open") + `]}`})
	if list, _, err := old.Findings(ctx, Choice{}); err != nil || len(list) != 1 {
		t.Errorf("of /insights: %v, %v", list, err)
	}
}

// TestClientFaults: whatever answers, the client ends with an error that says so.
func TestClientFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"another program": {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"hello":1}`) }, "another program"},
		"a page":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `<html>`) }, "understand the answer"},
		"an error":        {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"error":"no"}`, http.StatusForbidden) }, "no"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, "302"},
		"silence": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "has not answered within 50ms"},
		"too much": {func(w http.ResponseWriter, _ *http.Request) {
			blank := []byte(strings.Repeat(" ", 1<<20))
			for range maxAnswer>>20 + 1 {
				_, _ = w.Write(blank)
			}
		}, "more than 32 MiB"},
	} {
		s := httptest.NewServer(c.answer)
		timeout := time.Minute
		if name == "silence" {
			timeout = 50 * time.Millisecond
		}
		err := NewClient(s.URL, Timeouts{timeout, timeout, timeout}).Alive(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		s.Close()
		if err := NewClient(s.URL, Timeouts{timeout, timeout, timeout}).Alive(t.Context()); err == nil || strings.Contains(err.Error(), PathRequests) {
			t.Errorf("%s that has ended: %v", name, err)
		}
	}
}

// TestClientOfLocalhost: an app that listens on IPv6 alone is reached, and one on IPv4 comes first.
func TestClientOfLocalhost(t *testing.T) {
	t.Parallel()
	six, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("there is no IPv6: ", err)
	}
	port := six.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of TCP
	answer := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, text) })
	}
	s := &httptest.Server{Listener: six, Config: &http.Server{Handler: answer(`{"requests":[]}`), ReadHeaderTimeout: time.Minute}}
	s.Start()
	t.Cleanup(s.Close)
	c := NewClient(fmt.Sprintf("http://localhost:%d", port), Timeouts{time.Minute, time.Minute, time.Minute})
	check.OK(t, c.Alive(t.Context()))

	four, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Skip("the port is taken: ", err)
	}
	other := &httptest.Server{Listener: four, Config: &http.Server{Handler: answer(`{}`), ReadHeaderTimeout: time.Minute}}
	other.Start()
	t.Cleanup(other.Close)
	c = NewClient(fmt.Sprintf("http://localhost:%d", port), Timeouts{time.Minute, time.Minute, time.Minute})
	if err := c.Alive(t.Context()); err == nil {
		t.Error("IPv6 comes first")
	}
}
