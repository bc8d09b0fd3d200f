package rules_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/analysis"
	"bareclaw/observe/capture"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// telemetry is the evidence that the app itself gives.
const telemetry = capture.Traced | capture.Queried | capture.Logged

// changes are what makes of a request that proves a problem gone one that may prove nothing.
func changes() map[string]func(r *capture.Request) {
	replies := func(status int) func(r *capture.Request) {
		return func(r *capture.Request) {
			r.Status = status
			r.Received.Media = "application/json"
			r.Received.Body = []byte(`{"message":"no"}`)
		}
	}
	silent := func(r *capture.Request) {
		r.Evidence &^= telemetry
		r.Queries = nil
		r.Logs = nil
		r.Faults = nil
	}
	bodiless := func(r *capture.Request) {
		r.Evidence &^= capture.Body
		r.Received.Body = nil
	}
	return map[string]func(r *capture.Request){
		"nothing":      func(*capture.Request) {},
		"error":        replies(http.StatusInternalServerError),
		"other error":  replies(http.StatusServiceUnavailable),
		"not found":    replies(http.StatusNotFound),
		"not let in":   replies(http.StatusUnauthorized),
		"redirect":     replies(http.StatusFound),
		"no telemetry": silent,
		"silent error": func(r *capture.Request) {
			replies(http.StatusInternalServerError)(r)
			silent(r)
		},
		"cut body": func(r *capture.Request) {
			bodiless(r)
			r.Received.Cut = true
		},
		"aborted": func(r *capture.Request) {
			bodiless(r)
			r.Evidence &^= capture.Response
			r.End = capture.ClientGone
			r.Status = 0
		},
		"aborted halfway": func(r *capture.Request) {
			bodiless(r)
			r.Evidence &^= capture.Response
			r.End = capture.ClientGone
		},
		"app is starting": func(r *capture.Request) {
			silent(r)
			bodiless(r)
			r.Evidence &^= capture.Response
			r.End = capture.AppFailed
			r.Status = 0
		},
		"not modified": func(r *capture.Request) {
			bodiless(r)
			r.Status = http.StatusNotModified
			r.Queries = nil
		},
		"part": func(r *capture.Request) { r.Status = http.StatusPartialContent },
		"empty list": func(r *capture.Request) {
			r.Received.Media = "application/json"
			r.Received.Body = []byte(`{"items":[],"total":0}`)
		},
		"says that it failed": func(r *capture.Request) {
			r.Received.Media = "application/json"
			r.Received.Body = []byte(`{"errors":[{"message":"no"}],"data":null}`)
		},
		"not all is known": func(r *capture.Request) { r.Dropped = 1 },
	}
}

// set returns what sets a header of the response.
func set(name, value string) func(r *capture.Request) {
	return func(r *capture.Request) {
		r.Received.Header = r.Received.Header.Clone()
		r.Received.Header.Set(name, value)
	}
}

// from returns what has a request come from a page, and be allowed.
func from(origin string) func(r *capture.Request) {
	return func(r *capture.Request) {
		r.Sent.Header = r.Sent.Header.Clone()
		r.Sent.Header.Set("Origin", origin)
		set("Access-Control-Allow-Origin", origin)(r)
	}
}

// TestProofsOfOneRule: what counts as a proof for one rule alone.
func TestProofsOfOneRule(t *testing.T) {
	t.Parallel()
	rows := func(n int) func(r *capture.Request) {
		return func(r *capture.Request) {
			r.Queries = nil
			for i := range n {
				r.Queries = append(r.Queries, capture.Query{
					Text:        fmt.Sprintf("SELECT name FROM users WHERE id = %d", i),
					Shape:       "select name from users where id = ",
					Table:       "users",
					ValuesKnown: true,
				})
			}
		}
	}
	same := func(status int) func(r *capture.Request) {
		return func(r *capture.Request) {
			r.URL = "/items"
			r.Status = status
		}
	}
	for _, c := range []struct {
		rule, name string
		change     func(r *capture.Request)
		isProof    bool
	}{
		{"n1", "one row", rows(1), true},
		{"n1", "two rows", rows(2), false},
		{"insecure-cookie", "another cookie", set("Set-Cookie", "lang=en; HttpOnly; SameSite=Lax"), false},
		{"insecure-cookie", "the cookie is removed", set("Set-Cookie", "sid=; HttpOnly; SameSite=Lax; Max-Age=0"), false},
		{"cors-credentials", "the app's own page", from("http://localhost:5173"), false},
		{"cors-credentials", "nobody", from(""), false},
		{"error", "the same request is refused", same(http.StatusNotFound), true},
		{"error", "the same request is not let in", same(http.StatusUnauthorized), false},
		{"error", "the same request fails", same(http.StatusInternalServerError), false},
		{"error-hotspot", "the same request is refused", same(http.StatusBadRequest), true},
	} {
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			for _, e := range rules.ShownExamples() {
				if e.Rule != c.rule {
					continue
				}
				if f := judge(t, e, c.change); f.CleanHits > 0 != c.isProof {
					t.Errorf("%d clean hits", f.CleanHits)
				}
			}
		})
	}
}

// proofs returns, by rule, which changes leave a request a proof.
func proofs() map[string][]string {
	proxied := []string{"nothing", "no telemetry", "not all is known"}
	bodies := func(more ...string) []string { return append(more, proxied...) }
	headers := func(more ...string) []string { return append(more, bodies("cut body", "part")...) }
	queries := func(more ...string) []string { return append(more, "nothing", "cut body", "part") }
	const empty = "empty list"
	const failure = "says that it failed"
	return map[string][]string{
		"cors-credentials":   headers(empty, failure),
		"cross-endpoint":     queries(),
		"duplicate":          headers(empty, failure, "not modified"),
		"error":              queries(empty, failure, "not modified"),
		"error-hotspot":      headers(empty, failure, "not modified"),
		"error-info-leak":    bodies(empty, failure, "error", "silent error"),
		"exposed-secret":     bodies(),
		"high-rows":          queries(),
		"insecure-cookie":    headers(empty, failure, "not modified", "error", "other error", "silent error", "not found", "not let in"),
		"large-response":     bodies("cut body"),
		"n1":                 queries(),
		"query-heavy":        queries(),
		"redundant-query":    queries(),
		"regression":         queries(),
		"response-overfetch": bodies(),
		"response-pii-leak":  bodies(),
		"select-star":        queries(),
		"sensitive-logs":     queries(empty, failure, "not modified"),
		"slow":               headers("not modified"),
		"stack-trace-leak":   bodies(empty, failure, "error", "silent error"),
		"token-in-url":       headers(empty, failure, "not modified"),
	}
}

// TestProofs: of each rule, which requests count as a proof that a problem is gone.
func TestProofs(t *testing.T) {
	t.Parallel()
	want := proofs()
	for _, e := range rules.ShownExamples() {
		for name, change := range changes() {
			isProof := slices.Contains(want[e.Rule], name)
			t.Run(e.Rule+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := judge(t, e, change)
				if f.CleanHits > 0 != isProof {
					t.Errorf("%d clean hits", f.CleanHits)
				}
			})
		}
	}
	if len(want) != len(rules.All()) {
		t.Errorf("%d of %d rules are held", len(want), len(rules.All()))
	}
}

// judge has the rule of an example see what it finds, and then what proves it gone, changed. It returns the finding.
func judge(t *testing.T, e rules.Shown, change func(r *capture.Request)) findings.Finding {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := findings.OpenStore(filepath.Join(t.TempDir(), ".brakit"), trusting{}, log)
	check.OK(t, err)
	var source list
	for _, r := range e.Bad.Flow {
		source.add(*r, 1, time.Millisecond)
	}
	fixed := []*capture.Request{e.Fixed.Request}
	if e.Rule == "cross-endpoint" {
		fixed = e.Fixed.Flow
	}
	for _, r := range fixed {
		changed := *r
		changed.URL += "?page=2" // another request
		change(&changed)
		source.add(changed, 2, time.Hour)
	}
	var rule []rules.Rule
	for _, r := range rules.All() {
		if r.ID == e.Rule {
			rule = append(rule, r)
		}
	}
	analyst := analysis.New(analysis.Options{
		Source:   &source,
		Findings: store,
		History:  history(e.Bad.Earlier),
		Rules:    rule,
		Log:      log,
	})
	if err := analyst.Run(t.Context()); !errors.Is(err, errEnd) {
		t.Fatal(err)
	}
	all := store.All()
	if len(all) != 1 {
		t.Fatalf("found are %+v", all)
	}
	return all[0]
}

var errEnd = errors.New("no more")

// list is the source of some requests.
type list struct{ looks []capture.Look }

// add adds a request of a run of the app, begun so much later than the one before.
func (l *list) add(r capture.Request, run int, later time.Duration) {
	n := len(l.looks)
	r.ID = fmt.Sprint(n)
	r.Client = "browser"
	r.Run = run
	if run > 1 {
		r.Started = r.Started.Add(time.Hour)
	}
	r.Started = r.Started.Add(time.Duration(n) * later)
	l.looks = append(l.looks, capture.Look{
		Request: &r,
		Settled: true,
	})
}

// Next implements analysis.Source.
func (l *list) Next(context.Context) (capture.Look, error) {
	if len(l.looks) == 0 {
		return capture.Look{}, errEnd
	}
	next := l.looks[0]
	l.looks = l.looks[1:]
	return next, nil
}

// history is that of an app whose earlier runs had these figures.
type history []rules.RunFigures

func (h history) Add(findings.Measuring) {}

func (h history) SetUnusual(int, string) {}

func (h history) Earlier(string) []rules.RunFigures { return h }

// trusting trusts each store.
type trusting struct{}

func (trusting) Trusted(string) bool { return true }

func (trusting) Remember(string) {}
