package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/api"
	"bareclaw/observe/capture"
	"bareclaw/observe/discovery"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// A backend is what an observer knows, and answers as the API.
type backend struct {
	mu       sync.Mutex
	requests []capture.Request // the newest first
	figures  []capture.EndpointFigures
	problems []findings.Finding
	own      []string // what is wrong with the observer itself
	// replay is what a request that is sent again does.
	replay func(b *backend, endpoint string) (api.Replayed, error)
}

// Requests implements api.Captured.
func (b *backend) Requests(capture.Filter) []*capture.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*capture.Request
	for i := range b.requests {
		all = append(all, &b.requests[i])
	}
	return all
}

// Request implements api.Captured.
func (b *backend) Request(id string) (*capture.Request, bool) {
	for _, r := range b.Requests(capture.Filter{}) {
		if r.ID == id {
			return r, true
		}
	}
	return nil, false
}

// Endpoints implements api.Captured.
func (b *backend) Endpoints() []capture.EndpointFigures { return b.figures }

// Clear implements api.Captured.
func (b *backend) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = nil
}

// Replay implements api.Replayer.
func (b *backend) Replay(_ context.Context, endpoint string) (api.Replayed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.replay == nil {
		return api.Replayed{}, api.ErrNoReplay
	}
	return b.replay(b, endpoint)
}

// problemStore is the findings of a backend.
type problemStore struct{ b *backend }

// All implements api.Findings.
func (s problemStore) All() []findings.Finding {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return slices.Clone(s.b.problems)
}

// Finding implements api.Findings.
func (s problemStore) Finding(id string) (findings.Finding, bool) {
	for _, f := range s.All() {
		if f.ID == id {
			return f, true
		}
	}
	return findings.Finding{}, false
}

// Report implements api.Findings.
func (s problemStore) Report(id string, status findings.FixStatus, note string) (findings.Finding, error) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	for i := range s.b.problems {
		if f := &s.b.problems[i]; f.ID == id {
			f.Fix = &findings.Fix{Status: status, Note: note}
			if status == findings.FixBegun {
				f.State = findings.Fixing
			}
			return *f, nil
		}
	}
	return findings.Finding{}, errors.New("gone")
}

// Clear implements api.Findings.
func (s problemStore) Clear() int {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	n := len(s.b.problems)
	s.b.problems = nil
	return n
}

// now is when the requests of the tests are sent.
var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// makeFinding returns an open critical finding.
func makeFinding(id string, change func(f *findings.Finding)) findings.Finding {
	f := findings.Finding{
		ID:          id,
		Rule:        "n1",
		Severity:    rules.Critical,
		Endpoint:    "GET /users/:id",
		Title:       "The same query again and again",
		Description: "sends SELECT name 7 times",
		Advice:      "Join the tables.",
		State:       findings.Open,
		Occurrences: 1,
		FirstSeen:   now,
		LastSeen:    now,
		Requests:    []string{"r1"},
	}
	if change != nil {
		change(&f)
	}
	return f
}

// makeRequest returns a request that took 20 ms.
func makeRequest(id, method, url, endpoint string) capture.Request {
	return capture.Request{
		ID:       id,
		Method:   method,
		URL:      url,
		Endpoint: method + " " + endpoint,
		Started:  now,
		Took:     20 * time.Millisecond,
		Status:   http.StatusOK,
		End:      capture.Complete,
		Evidence: capture.Response | capture.Traced,
	}
}

// makeFigures returns the figures of an endpoint. Without queries nobody has told of them.
func makeFigures(endpoint string, requests int, p95 time.Duration, failed, queries int) capture.EndpointFigures {
	f := capture.EndpointFigures{Endpoint: endpoint}
	f.Total = capture.Figures{
		Requests: requests,
		Failed:   failed,
		P50:      p95 / 2,
		P95:      p95,
		Queries:  queries,
	}
	if queries > 0 {
		f.Total.Traced = requests
	}
	return f
}

// makeBackend returns an app with a finding and some requests.
func makeBackend() *backend {
	slow := makeRequest("r1", "GET", "/users/7", "/users/:id")
	for i := range 30 {
		slow.Queries = append(slow.Queries, capture.Query{
			At:     now.Add(time.Duration(i) * time.Millisecond),
			Took:   time.Millisecond,
			System: "postgresql",
			Text:   fmt.Sprint("SELECT name FROM users WHERE id = ", i),
			Rows:   1,
		})
	}
	return &backend{
		requests: []capture.Request{makeRequest("r2", "POST", "/orders", "/orders"), slow},
		figures: []capture.EndpointFigures{
			makeFigures("GET /users/:id", 10, 20*time.Millisecond, 0, 300),
			makeFigures("POST /orders", 90, 5*time.Millisecond, 45, 0),
		},
		problems: []findings.Finding{makeFinding("f1", nil)},
	}
}

// serve serves the API of a backend, and returns its port.
func (b *backend) serve(t *testing.T) int {
	t.Helper()
	return serveAPI(t, api.Options{
		Problems: func() []string { return b.own },
		Captured: b,
		Findings: problemStore{b},
		Replay:   b,
	})
}

// serveAPI serves an API, and returns its port.
func serveAPI(t testing.TB, o api.Options) int {
	t.Helper()
	o.Peer = func(net.Conn) bool { return true }
	o.Log = slog.New(slog.DiscardHandler)
	s := api.NewServer(o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	go func() { _ = s.Serve(l) }() // ends by Shutdown
	t.Cleanup(func() { check.OK(t, s.Shutdown(context.Background())) })
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of TCP
}

// A house has observers, and a registry with the tools.
type house struct {
	t        *testing.T
	root     string
	records  discovery.Records
	registry *tools.Registry

	mu      sync.Mutex
	started []Start
	stopped []string
}

// newHouse returns a house in which the agent of each channel works in a directory of its name.
func newHouse(t *testing.T) *house {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	h := &house{
		t:       t,
		root:    root,
		records: discovery.Records(filepath.Join(t.TempDir(), "observe")),
	}
	f := newFinder(Options{Observers: h, Dir: func(channel core.ChannelKey) string { return h.dir(string(channel)) }}, time.Now().Add(-time.Hour))
	f.evidence = 300 * time.Millisecond
	h.registry, err = tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{tools.Fixed(SourceName, toolsOf(f)...)},
	})
	check.OK(t, err)
	return h
}

// dir returns the directory of an app or a channel.
func (h *house) dir(name string) string { return filepath.Join(h.root, name) }

// Records implements Observers.
func (h *house) Records() ([]discovery.Record, error) { return h.records.All() }

// Start implements Observers.
func (h *house) Start(_ context.Context, s Start) (discovery.Record, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started = append(h.started, s)
	return discovery.Record{ID: "new", Target: s.Target, Proxy: "http://127.0.0.1:4400", Dir: s.Dir, Channel: string(s.Channel)}, nil
}

// Stop implements Observers.
func (h *house) Stop(_ context.Context, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = append(h.stopped, id)
	return nil
}

// observe adds an observer of a backend, in a directory and for a channel.
func (h *house) observe(name, channel string, b *backend) {
	h.t.Helper()
	r, err := discovery.Own(name)
	check.OK(h.t, err)
	r.Dir = h.dir(name)
	check.OK(h.t, os.MkdirAll(r.Dir, 0o700))
	r.Target = "http://localhost:3000"
	r.Proxy = "http://127.0.0.1:" + fmt.Sprint(4400+len(name))
	r.Port = b.serve(h.t)
	r.Channel = channel
	r.Notify = "tell"
	check.OK(h.t, h.records.Write(r))
}

// call calls a tool for the session of a channel, and returns the result.
func (h *house) call(channel, tool, args string) tools.Result {
	h.t.Helper()
	c := tools.Call{Caller: h.registry.Session(core.ChannelKey(channel), "s", "", 0), Args: []byte(args)}
	r, err := h.registry.Call(h.t.Context(), tool, c)
	check.OK(h.t, err)
	return r
}

// want calls a tool, and checks what is in the text of the result.
func (h *house) want(tool, args string, isError bool, has ...string) {
	h.t.Helper()
	r := h.call("shop", tool, args)
	if r.IsError != isError {
		h.t.Errorf("%s %s: %s (error: %v)", tool, args, r.Text, r.IsError)
	}
	for _, text := range has {
		without, absent := strings.CutPrefix(text, "!")
		if strings.Contains(r.Text, without) == absent {
			h.t.Errorf("%s %s:\n%s\nwant %q", tool, args, r.Text, text)
		}
	}
}
