package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/core/lanes"
	"bareclaw/core/schedule"
	"bareclaw/core/tools"
	"bareclaw/docs"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/openapi"
	"bareclaw/mcp"
	toolhost "bareclaw/toolhost/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var startedAt = time.Date(2026, 1, 2, 3, 4, 5, 678900000, time.UTC)

// mounts are those of the gateway, with the handlers of a test.
func mounts(tools, toolHost http.Handler) []Mount {
	return []Mount{
		{Routes: api.MCPRoutes(), Handler: tools, IsStream: mcp.IsStream},
		{Routes: api.ToolHostRoutes(), Handler: toolHost, Strip: api.PathToolHost},
		{Routes: api.ObserverRoutes(), Handler: http.HandlerFunc(answerObserver), Strip: api.PathObservers + "/", IsStream: mcp.IsStream},
		{Routes: api.BagRoutes(), Handler: tools, Strip: api.PathBags, IsStream: mcp.IsStream},
	}
}

// allRoutes returns the routes of a server of the gateway.
func allRoutes() []route {
	nothing := http.NotFoundHandler()
	return routes(&shared{Options: Options{Mounts: mounts(nothing, nothing)}})
}

// options are those of a server of the gateway.
func (g *gateway) options(log io.Writer) Options {
	o := Options{
		Core: g.core(), Commands: g.commands(), Push: &core.PushRegistry{}, Mounts: mounts(http.HandlerFunc(answerMCP), toolHost(func() error { return nil })), BodyLimit: 64 << 10,
		Servers: servers{}, Observers: &observed{},
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Health: func() api.Health {
			return api.Health{Ledger: &api.Ledger{}, PID: 42, Version: "v1", Ready: true, StartedAt: startedAt, Agent: api.Agent{Kind: "echo"}, Tools: &api.Tools{Host: api.ToolRunner{Status: "running", PID: 43, StartedAt: startedAt, Healthy: true, HeapUsed: 1}}}
		},
		Restart:     func(context.Context) error { return nil },
		Upgrade:     func(context.Context, api.UpgradeRequest) error { return nil },
		LastUpgrade: func() (api.Upgrade, error) { return api.Upgrade{State: "none"}, nil },
	}
	o.Schedules = schedule.New(schedule.Options{
		Store: g.ledger, Log: o.Log, Submitter: g.Manager, Deliverers: g.Adapters, Precheck: func(context.Context, string) (schedule.PrecheckResult, error) { return schedule.PrecheckResult{}, nil },
		BuiltIns: []schedule.BuiltIn{{ID: "heartbeat", Channel: "heartbeat", Text: func() (string, error) { return "look", nil }}},
		Admit: func(_ context.Context, key core.ChannelKey) error {
			if key == "tg-8" {
				return &core.PushError{Kind: core.ErrNotAllowed, Text: "A stranger."}
			}
			return nil
		},
	})
	return o
}

// core is what the server uses of the gateway.
func (g *gateway) core() Core {
	return Core{
		Lanes:      g.Manager,
		Messages:   g.Lookup,
		History:    g.Lookup,
		Channels:   g.Directory,
		Decider:    g.Decider,
		Settings:   g.ChannelSettings,
		Feeds:      g.Feeds,
		Deliverers: g.Adapters,
	}
}

// commands are those of the gateway.
func (g *gateway) commands() *commands.Table {
	registry, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{tools.Dispatchers()},
	})
	if err != nil {
		panic(err) // names are unique
	}
	rows := commands.Builtin(commands.Options{
		Channels: g.Directory,
		Messages: g.Lookup,
		Queue:    g.Manager,
		Sessions: g.Manager,
		Settings: g.ChannelSettings,
		Models:   []string{"opus"},
	})
	all, err := commands.NewTable(append(rows, commands.ToolsCommand(registry), commands.MountsCommand(servers{}))...)
	if err != nil {
		panic(err) // names are unique
	}
	return all
}

// servers are those of a gateway that has mounted two: github, and broken, which does not start.
type servers struct{ fault error }

func (servers) Mounts() api.Mounts {
	return api.Mounts{Mounts: []api.Mount{
		{Name: "broken", State: api.MountFailing, Problem: "it has ended", Target: "nothing", Scope: "shared", Category: "utility", Failures: 1, Starts: 1, Instances: []api.MountInstance{}},
		github(),
	}}
}

func (servers) MountedServers() ([]commands.MountedServer, string) { return nil, "" }

func (s servers) TestMount(_ context.Context, name string) (api.Mount, error) {
	switch {
	case s.fault != nil:
		return api.Mount{}, s.fault
	case name == "broken":
		return api.Mount{}, errors.New("the mounted server broken does not start")
	case name != "github":
		return api.Mount{}, core.ErrNotFound
	}
	tested := github()
	tested.ToolList = []api.MountTool{{Name: "github_get", Description: "Get.", Asks: true}}
	return tested, nil
}

func github() api.Mount {
	return api.Mount{
		Name:        "github",
		State:       api.MountRunning,
		Target:      "npx",
		Scope:       "shared",
		Category:    "github",
		Since:       startedAt,
		Tools:       1,
		Asks:        1,
		Changed:     []string{"get"},
		LeftOut:     []string{"no"},
		MemoryBytes: 1 << 20,
		Instances:   []api.MountInstance{{Channel: "http", PID: 44, Since: startedAt, Calls: 1, MemoryBytes: 1 << 20}},
	}
}

// toolHost answers in the place of the tool host: with status 503 while there is a fault, and
// with 400 to anything that is wrong. The answers of the real one are tested in its package.
func toolHost(fault func() error) http.Handler {
	mux, done := http.NewServeMux(), toolhost.Done{Success: true}
	for pattern, reply := range map[string]any{
		"GET " + toolhost.PathHealth:               toolhost.Health{Status: toolhost.Healthy},
		"GET " + toolhost.PathTools:                []toolhost.Tool{{Tool: tools.Tool{Name: "mine", Description: "Mine", Input: []byte(`{"type":"object"}`)}, File: "mine.ts"}},
		"DELETE " + toolhost.PathTools + "/mine":   done,
		"POST " + toolhost.PathCall:                toolhost.ResultOf("mine", tools.Result{Structured: []byte(`{"a":1}`)}),
		"POST " + toolhost.PathReload:              toolhost.Reloaded{Success: true, Loaded: []string{"mine"}},
		"POST " + toolhost.PathShutdown:            done,
		"DELETE " + toolhost.PathTools + "/{name}": nil,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var body any
			switch {
			case fault() != nil:
				w.Header().Set("Retry-After", "1")
				toolhost.Write(w, http.StatusServiceUnavailable, toolhost.Done{Error: "The tool host is starting."})
			case reply == nil || r.URL.RawQuery != "" || r.ContentLength != 0 && json.UnmarshalRead(r.Body, &body) != nil:
				toolhost.Write(w, http.StatusBadRequest, toolhost.Done{Error: "no"})
			default:
				toolhost.Write(w, http.StatusOK, reply)
			}
		})
	}
	return mux
}

// A rig is a server on real listeners. Everything that goes through client or
// local is held against the document.
type rig struct {
	*testing.T
	*gateway
	server        *Server
	url, socket   string
	client, local *http.Client
	recorder      *openapi.Recorder
	log           *lockedBuffer
}

func newRig(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	return newRigOn(t, nil, change)
}

// startRig is newRig for a test that runs in parallel with others.
func startRig(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	t.Parallel()
	return newRig(t, change)
}

// newRigOn is newRig with another core.
func newRigOn(t *testing.T, changeCore func(*lanes.Options), change func(*Options)) *rig {
	t.Helper()
	r := &rig{T: t, gateway: newGateway(t, changeCore), log: &lockedBuffer{}}
	o := r.options(r.log)
	if change != nil {
		change(&o)
	}
	r.server = New(o)
	dir, err := os.MkdirTemp("", "gw")
	check.OK(t, err)
	tcp := r.listen("tcp", "127.0.0.1:0", r.server.Serve)
	unix := r.listen("unix", filepath.Join(dir, "api.sock"), r.server.ServeLocal)
	r.url, r.socket = "http://"+tcp.String(), unix.String()
	transport := &http.Transport{}
	toSocket := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", unix.String())
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		toSocket.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := errors.Join(r.server.Shutdown(ctx, ShuttingDown), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	r.recorder = openapi.New(t, docs.OpenAPI(), transport)
	r.client = r.recorder.Client()
	r.local = r.recorder.With(toSocket).Client()
	return r
}

func (r *rig) listen(network, address string, serve func(net.Listener) error) net.Addr {
	r.Helper()
	l, err := net.Listen(network, address)
	check.OK(r, err)
	ended := make(chan error, 1)
	go func() { ended <- serve(l) }()
	r.Cleanup(func() {
		if err := <-ended; err != nil {
			r.Error(err)
		}
	})
	return l.Addr()
}

// An answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
}

// request builds a request; headers are pairs, and an empty value removes one.
func (r *rig) request(method, path, body string, headers ...string) *http.Request {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.url+path, strings.NewReader(body))
	check.OK(r, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		switch name, value := headers[i], headers[i+1]; {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	return req
}

func (r *rig) do(c *http.Client, req *http.Request) answer {
	r.Helper()
	resp, err := c.Do(req)
	check.OK(r, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	check.OK(r, err)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func (r *rig) send(method, path, body string, headers ...string) answer {
	r.Helper()
	return r.do(r.client, r.request(method, path, body, headers...))
}

// want checks the status, and for an error its code.
func (r *rig) want(a answer, status int, code string) {
	r.Helper()
	if a.status != status || code != "" && a.field(r.T, "code") != code {
		r.Fatalf("got %d %s, want %d %s", a.status, a.body, status, code)
	}
}

func (a answer) object(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return v
}

func (a answer) field(t testing.TB, name string) any {
	t.Helper()
	return a.object(t)[name]
}

// accept sends a message without waiting, and returns its id.
func (r *rig) accept(text, channel string) string {
	r.Helper()
	a := r.send("POST", "/message", `{"text":`+quoted(r, text)+`,"channel":"`+channel+`"}`, "Prefer", "respond-async")
	r.want(a, http.StatusAccepted, "")
	id, _ := a.field(r.T, "message_id").(string)
	return id
}

// occupy holds a turn on a channel, which release ends, and returns its message.
func (r *rig) occupy(channel string) (id string) {
	r.Helper()
	next := r.watch(r, core.ChannelKey(channel))
	id = r.accept("hold "+channel, channel)
	next(core.UpdateStarted)
	return id
}

// asks has a turn ask for a permission, and returns the approval.
func (r *rig) asks(tool, input string) (approval string) {
	r.Helper()
	next := r.watch(r, "asks")
	r.submit(r, "asks", "ask "+tool+" "+input)
	return next(core.UpdateApproval).Approval.ID
}

// An event is a server-sent event.
type event struct{ id, name, data string }

// events opens a stream. Next is empty when the stream has ended.
func (r *rig) events(req *http.Request) (resp *http.Response, next func() event) {
	r.Helper()
	resp, err := r.client.Do(req)
	check.OK(r, err)
	r.Cleanup(func() { resp.Body.Close() })
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		r.Fatalf("got %d %s: %s", resp.StatusCode, ct, body)
	}
	return resp, eventScanner(resp.Body)
}

func eventScanner(body io.Reader) func() event {
	lines := bufio.NewScanner(body)
	return func() (e event) {
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data += value
			case "":
				if value != "" || lines.Text() == "" && e.name == "" { // a comment, or its end
					continue
				}
				return e
			}
		}
		return e
	}
}

// A lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	wrote sync.Cond
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrote.Broadcast()
	return b.buf.Write(p)
}

// await waits until the log has a text so many times.
func (b *lockedBuffer) await(text string, times int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrote.L = &b.mu
	for strings.Count(b.buf.String(), text) < times {
		b.wrote.Wait()
	}
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// quoted returns a JSON string.
func quoted(t testing.TB, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	check.OK(t, err)
	return string(b)
}

// same compares two JSON objects.
func same(t *testing.T, got, want map[string]any) {
	t.Helper()
	g, err := json.Marshal(got, json.Deterministic(true))
	check.OK(t, err)
	w, err := json.Marshal(want, json.Deterministic(true))
	check.OK(t, err)
	if !bytes.Equal(g, w) {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}
