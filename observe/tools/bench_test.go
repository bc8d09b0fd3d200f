package tools

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/api"
	"bareclaw/observe/capture"
	"bareclaw/observe/discovery"
	"bareclaw/observe/findings"
)

// A fullBackend is a backend whose requests are in a real store.
type fullBackend struct {
	*backend

	store *capture.Store
}

// Requests implements api.Captured.
func (f fullBackend) Requests(filter capture.Filter) []*capture.Request {
	return f.store.Requests(filter)
}

// Request implements api.Captured.
func (f fullBackend) Request(id string) (*capture.Request, bool) { return f.store.Request(id) }

// newFullBackend returns 1,000 requests with 30 queries and a body of 16 kB each, 1,000 findings, and
// the figures of 1,000 endpoints.
func newFullBackend(b *testing.B) fullBackend {
	b.Helper()
	f := fullBackend{makeBackend(), capture.NewStore(capture.Options{})}
	running := make(chan struct{})
	go func() { // ends with the benchmark
		close(running)
		f.store.Run(b.Context())
	}()
	<-running
	body := []byte(strings.Repeat(`{"name":"x"}`, 1300))
	for n := range 1000 {
		r := makeRequest(fmt.Sprint("r", n), "GET", fmt.Sprint("/users/", n), "/users/:id")
		r.Started = time.Now()
		f.store.Begin(r)
		for i := range 30 {
			f.store.Signal(capture.Signal{Request: r.ID, At: r.Started, Query: &capture.Query{At: r.Started, Text: fmt.Sprint("SELECT name FROM users WHERE id = ", i), Rows: -1}})
		}
		f.store.End(capture.Raw{Request: r, Received: capture.RawBody{Bytes: body}})
		check.Eventually(b, patience, "the request is kept", func() bool {
			_, ok := f.store.Request(r.ID)
			return ok
		})
	}
	f.problems = nil
	for n := range 1000 {
		f.figures = append(f.figures, makeFigures(fmt.Sprintf("GET /flawed/%c%c", 'a'+n%26, 'A'+n/26), 10, time.Duration(n)*time.Millisecond, 1, 300))
		f.problems = append(f.problems, makeFinding(fmt.Sprint("f", n), func(p *findings.Finding) { p.Requests = []string{fmt.Sprint("r", 999-n)} }))
	}
	return f
}

// BenchmarkTools measures how long the tools that read take with full stores.
func BenchmarkTools(b *testing.B) {
	full := newFullBackend(b)
	dir := b.TempDir()
	records := discovery.Records(filepath.Join(dir, "observe"))
	r, err := discovery.Own("shop")
	check.OK(b, err)
	r.Dir = filepath.Join(dir, "shop")
	check.OK(b, os.Mkdir(r.Dir, 0o700))
	r.Port = serveAPI(b, api.Options{Captured: full, Findings: problemStore{full.backend}})
	check.OK(b, records.Write(r))
	f := newFinder(Options{
		Observers: &house{records: records},
		Dir:       func(core.ChannelKey) string { return r.Dir },
	}, time.Now())
	registry, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{tools.Fixed(SourceName, toolsOf(f)...)},
	})
	check.OK(b, err)
	for _, c := range []struct{ tool, args string }{
		{"get_findings", `{}`},
		{"get_endpoints", `{}`},
		{"get_request_detail", `{"endpoint":"GET /users/:id"}`},
		{"verify_fix", `{"finding_id":"f7"}`},
		{"get_report", `{}`},
	} {
		b.Run(c.tool, func(b *testing.B) {
			for b.Loop() {
				got, err := registry.Call(b.Context(), c.tool, tools.Call{Args: []byte(c.args)})
				if err != nil || got.IsError {
					b.Fatal(got.Text, err)
				}
			}
		})
	}
}
