package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// patience is how long a test waits for what comes by itself.
const patience = 20 * time.Second

// A process is a handler as one process of the gateway has it, with its tools.
type process struct {
	registry *tools.Registry
	tools    *tools.List
	server   *Server
	handler  *Handler
}

func newProcess(t *testing.T, names ...string) *process {
	t.Helper()
	return newProcessOf(t, nil, names...)
}

// newProcessOf is newProcess with further sources of tools.
func newProcessOf(t *testing.T, sources []tools.Source, names ...string) *process {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	p := &process{tools: tools.NewList("dynamic")}
	var err error
	p.registry, err = tools.NewRegistry(tools.Options{Log: log, Sources: append(sources, p.tools)})
	check.OK(t, err)
	p.set(t, names...)
	p.server = New(Options{Registry: p.registry, Name: Name, Version: "v1", Log: log})
	p.server.Offer()
	p.handler = p.server.Handler()
	t.Cleanup(func() {
		for s := range p.server.sdk.Sessions() {
			_ = s.Close()
		}
	})
	return p
}

// A lateSource has no tools, and says when or why.
type lateSource struct {
	await   func() error // nil: never any
	missing map[string]string
}

// Name implements tools.Source.
func (lateSource) Name() string { return "late" }

// Tools implements tools.Source.
func (lateSource) Tools(*tools.Registry) []tools.Tool { return nil }

// Await implements tools.LateSource.
func (l lateSource) Await(context.Context, string) error {
	if l.await == nil {
		return nil
	}
	return l.await()
}

// WhyMissing implements tools.LateSource.
func (l lateSource) WhyMissing(name string) string { return l.missing[name] }

// set makes the names the tools of the process; each returns its arguments.
func (p *process) set(t *testing.T, names ...string) {
	t.Helper()
	all := make([]tools.Tool, len(names))
	for i, name := range names {
		all[i] = tools.Tool{Name: name, Description: "Echo", Input: json.RawMessage(`{"type":"object"}`), Handle: func(_ context.Context, c tools.Call) (tools.Result, error) {
			return tools.Result{Structured: c.Args}, nil
		}}
	}
	check.OK(t, p.tools.Replace(all))
}

// A gateway serves one process after another at the same URL.
type gateway struct {
	*httptest.Server
	now    atomic.Pointer[process]
	client *http.Client // whose requests never meet a connection of a killed process
}

func serve(t *testing.T, first *process) *gateway {
	t.Helper()
	g := &gateway{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	g.now.Store(first)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.now.Load().handler.ServeHTTP(w, r) }))
	t.Cleanup(func() {
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

// replace kills the process, and lets another one serve.
func (g *gateway) replace(next *process) {
	g.now.Store(next)
	g.CloseClientConnections()
}

// send sends a request; headers are pairs.
func (g *gateway) send(t *testing.T, method, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, g.URL, strings.NewReader(body))
	check.OK(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := g.client.Do(req)
	check.OK(t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	check.OK(t, err)
	return res, string(b)
}

// streams are the headers of a client that takes streams.
func streams(more ...string) []string {
	return append([]string{"Accept", "application/json, text/event-stream", "Content-Type", "application/json"}, more...)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// begin begins a session and returns its id.
func (g *gateway) begin(t *testing.T) string {
	t.Helper()
	res, body := g.send(t, "POST", initialize, streams()...)
	id := res.Header.Get(headerSession)
	if res.StatusCode != http.StatusOK || id == "" || !strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("initialize: %d, session %q, %s", res.StatusCode, id, body)
	}
	return id
}

// TestSessionsOutliveTheProcess goes on with a session after the process that has begun it was
// killed, with a client that does not initialize again.
func TestSessionsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	g := serve(t, newProcess(t, "echo"))
	changed := make(chan struct{}, 10)
	client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: g.URL, HTTPClient: g.client}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	check.OK(t, err)
	defer func() { _ = session.Close() }()
	names := func() (all []string) {
		t.Helper()
		list, err := session.ListTools(t.Context(), nil)
		check.OK(t, err)
		for _, tool := range list.Tools {
			all = append(all, tool.Name)
		}
		return all
	}
	if got := fmt.Sprint(names()); got != "[echo]" {
		t.Fatalf("tools %s", got)
	}

	next := newProcess(t, "echo", "new")
	g.replace(next)
	if got := fmt.Sprint(names()); got != "[echo new]" {
		t.Errorf("tools of the next process: %s", got)
	}
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "new", Arguments: map[string]int{"n": 1}})
	check.OK(t, err)
	if got := fmt.Sprint(result.StructuredContent); got != "map[n:1]" {
		t.Errorf("the result is %s", got)
	}

	// The client opens its stream again, with a pause.
	for n := 0; ; n++ {
		next.set(t, "echo", fmt.Sprint("made", n))
		next.server.Offer()
		select {
		case <-changed:
			return
		case <-time.After(200 * time.Millisecond):
		}
		if n > 100 {
			t.Fatal("the client does not hear of changed tools")
		}
	}
}

// TestRevivedSessionCancels cancels a call in a session of an earlier process.
func TestRevivedSessionCancels(t *testing.T) {
	t.Parallel()
	g := serve(t, newProcess(t, "hang"))
	id := g.begin(t)
	began, ended := make(chan struct{}), make(chan error, 1)
	next := newProcess(t)
	check.OK(t, next.tools.Replace([]tools.Tool{{Name: "hang", Input: json.RawMessage(`{"type":"object"}`), Timeout: time.Hour, Handle: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return tools.Result{}, ctx.Err()
	}}}))
	next.server.Offer()
	g.replace(next)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hang"}}`))
		for i, all := 0, streams(headerSession, id); i < len(all); i += 2 {
			req.Header.Set(all[i], all[i+1])
		}
		if res, err := g.client.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-began
	res, _ := g.send(t, "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, streams(headerSession, id)...)
	if res.StatusCode != http.StatusAccepted {
		t.Errorf("cancelled: %d", res.StatusCode)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the call has no cause to end")
		}
	case <-time.After(patience):
		t.Error("the call goes on")
	}
}

// TestEndedSessions are refused, so that their clients initialize again.
func TestEndedSessions(t *testing.T) {
	t.Parallel()
	for name, replaced := range map[string]bool{"by the process that has begun it": false, "by the next": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, newProcess(t, "echo"))
			id := g.begin(t)
			if replaced {
				g.replace(newProcess(t, "echo"))
				if res, body := g.send(t, "POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, streams(headerSession, id)...); res.StatusCode != http.StatusOK {
					t.Fatalf("ping: %d %s", res.StatusCode, body)
				}
			}
			if res, _ := g.send(t, "DELETE", "", headerSession, id); res.StatusCode != http.StatusNoContent {
				t.Errorf("DELETE: %d", res.StatusCode)
			}
			for method, body := range map[string]string{"POST": `{"jsonrpc":"2.0","id":2,"method":"ping"}`, "GET": "", "DELETE": ""} {
				if res, text := g.send(t, method, body, streams(headerSession, id)...); res.StatusCode != http.StatusNotFound || !strings.Contains(text, `"code":-32001`) {
					t.Errorf("%s: %d %s", method, res.StatusCode, text)
				}
			}
			if res, text := g.send(t, "POST", initialize, streams(headerSession, id)...); res.StatusCode != http.StatusOK || res.Header.Get(headerSession) == id {
				t.Errorf("initialize: %d %s", res.StatusCode, text)
			}
		})
	}
}

// TestAnswers holds what a client gets that sends single requests.
func TestAnswers(t *testing.T) {
	t.Parallel()
	g := serve(t, newProcess(t, "b", "a"))
	own := g.begin(t)
	const newest = "2026-07-28"
	modern := func(method string) []string { return streams(headerVersion, newest, "Mcp-Method", method) }
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	curl := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for _, c := range []struct {
		name, body string
		headers    []string
		status     int
		has        string
	}{
		{"list", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, curl, 200, `"tools":[{"_meta":{"anthropic/maxResultSizeChars":500000,"bareclaw/category":"utility","bareclaw/source":"dynamic"},"description":"Echo","inputSchema":{"type":"object"},"name":"a"},{`},
		{"call", `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","arguments":{"n":1}}}`, curl, 200, `"structuredContent":{"n":1}`},
		{"initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, curl, 200, `"protocolVersion":"2025-11-25"`},
		{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, curl, 200, `"result":{}`},
		{"set a level", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`, curl, 200, `"result":{}`},
		{"complete", `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}}`, curl, 200, `"completion":{"values":[]}`},
		{"subscribe", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///x"}}`, curl, 200, `"result":{}`},
		{"unsubscribe", `{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"file:///x"}}`, curl, 200, `"result":{}`},
		{"resources", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, curl, 200, `"resources":[]`},
		{"prompts", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, curl, 200, `"prompts":[]`},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"c"}}`, curl, 200, `"code":-32602`},
		{"call without params", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, curl, 400, `"id":7`},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"none"}`, curl, 200, `"error":{"code":-32601,`},
		{"no JSON", `{"jsonrpc":`, curl, 200, `"code":-32700`},
		{"no request", `{}`, curl, 400, `"code":-32600`},
		{"nothing", ``, curl, 200, `"code":-32700`},
		{"too much", `"` + strings.Repeat("x", maxBody) + `"`, curl, 413, `"code":-32600`},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, curl, 202, ``},

		{"unknown method in a session", `{"jsonrpc":"2.0","id":1,"method":"none"}`, streams(headerSession, own), 200, `"error":{"code":-32601,`},
		{"no JSON in a session", `{"jsonrpc":`, streams(headerSession, own), 200, `"code":-32700`},
		{"list in a session", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, streams(headerSession, own), 200, `"name":"a"`},
		{"list in a session of another process", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, streams(headerSession, "other"), 200, `"name":"a"`},
		{"unknown version", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, streams(headerVersion, "1999-01-01"), 400, `"code":-32600`},

		{"newest list", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`, modern("tools/list"), 200, `"ttlMs":0`},
		{"newest discovery", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, modern("server/discover"), 200, `"supportedVersions":["2026-07-28"`},
		{"newest unknown method", `{"jsonrpc":"2.0","id":1,"method":"none","params":{` + meta + `}}`, modern("none"), 404, `"code":-32601`},
		{"newest without JSON", `{"jsonrpc":`, modern("none"), 400, `"code":-32700`},
		{"newest ping", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + meta + `}}`, modern("ping"), 404, `"code":-32601`},
		{"newest header alone", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, modern("tools/list"), 400, `"code":-32602`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, body := g.send(t, "POST", c.body, c.headers...)
			if res.StatusCode != c.status || !strings.Contains(body, c.has) {
				t.Errorf("%d %s, want %d %s", res.StatusCode, body, c.status, c.has)
			}
			if c.headers[0] != "Accept" && res.StatusCode != http.StatusAccepted && (res.Header.Get("Content-Type") != "application/json" || !json.Valid([]byte(body))) {
				t.Errorf("no JSON: %s %s", res.Header.Get("Content-Type"), body)
			}
		})
	}
}

// TestOtherMethods are refused in JSON.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	g := serve(t, newProcess(t))
	for _, c := range []struct {
		method  string
		headers []string
		status  int
	}{
		{"GET", streams(), 400},
		{"DELETE", streams(), 400},
		{"PUT", streams(headerSession, "other"), 405},
		{"GET", streams(headerVersion, "2026-07-28"), 405},
		{"DELETE", streams(headerVersion, "2026-07-28", headerSession, "other"), 405},
	} {
		if res, body := g.send(t, c.method, "", c.headers...); res.StatusCode != c.status || !strings.Contains(body, `"jsonrpc":"2.0"`) {
			t.Errorf("%s %v: %d %s", c.method, c.headers, res.StatusCode, body)
		}
	}
}

// TestListIsStable: clients that cache prompts must get the same bytes, whatever happened between.
func TestListIsStable(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "c", "a", "b")
	g := serve(t, p)
	_, first := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	p.set(t, "b", "new", "c", "a")
	_, other := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	p.set(t, "b", "c", "a")
	if _, again := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); again != first || other == first {
		t.Errorf("first\n%s\nagain\n%s", first, again)
	}
	g.replace(newProcess(t, "b", "a", "c"))
	if _, next := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); next != first {
		t.Errorf("first\n%s\nof the next process\n%s", first, next)
	}
}

// TestToolAtOnce: a tool can be called by its name as soon as the registry has the tool.
func TestToolAtOnce(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	g := serve(t, p)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}}`
	for _, has := range []string{`"code":-32602`, `"structuredContent":{"x":1}`} {
		if _, body := g.send(t, "POST", call); !strings.Contains(body, has) {
			t.Errorf("%s, want %s", body, has)
		}
		p.set(t, "a")
	}
}

// TestToolsToCome: a list, and the call of an unknown tool, wait until all tools are known.
func TestToolsToCome(t *testing.T) {
	t.Parallel()
	for _, request := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"late","arguments":{}}}`,
	} {
		complete := make(chan struct{})
		late := lateSource{await: func() error {
			<-complete
			return nil
		}}
		p := newProcessOf(t, []tools.Source{late})
		g := serve(t, p)
		answer := make(chan string, 1)
		go func() {
			_, body := g.send(t, "POST", request)
			answer <- body
		}()
		_, other := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if strings.Contains(other, "error") || len(answer) > 0 {
			t.Errorf("%s is answered before the tools are known", request)
		}
		p.set(t, "late")
		close(complete)
		if body := <-answer; strings.Contains(body, "error") || !strings.Contains(body, "late") && !strings.Contains(body, `"structuredContent"`) {
			t.Errorf("%s: %s", request, body)
		}
	}
}

// TestManySessions: neither sessions of earlier processes nor those that are begun here fill the
// memory, and a client whose session was ended to make room goes on all the same.
func TestManySessions(t *testing.T) {
	t.Parallel()
	for name, another := range map[string]func(g *gateway, i int) (id string){
		"of earlier processes": func(g *gateway, i int) string { return fmt.Sprint("earlier-", i) },
		"begun here":           func(g *gateway, _ int) string { return g.begin(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, "a")
			g := serve(t, p)
			first := another(g, 0)
			for i := range maxSessions + 20 {
				if _, body := g.send(t, "POST", ping, streams(headerSession, another(g, 1+i))...); !strings.Contains(body, `"result"`) {
					t.Fatal(body)
				}
			}
			check.Eventually(t, patience, "few sessions are left", func() bool {
				n := 0
				for session := range p.server.sdk.Sessions() {
					n++
					if session.ID() == first {
						return false
					}
				}
				return n <= maxSessions
			})
			if _, body := g.send(t, "POST", ping, streams(headerSession, first)...); !strings.Contains(body, `"result"`) {
				t.Errorf("the first session: %s", body)
			}
		})
	}
}

// TestLongSessionIDs: an id that no gateway has made takes no memory.
func TestLongSessionIDs(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	g := serve(t, p)
	id := strings.Repeat("x", maxSessionID+1)
	if res, body := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, streams(headerSession, id)...); res.StatusCode != http.StatusNotFound || !strings.Contains(body, `"code":-32001`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	g.send(t, "DELETE", "", headerSession, id)
	if p.handler.sessions.isEnded(id) || len(p.handler.sessions.all) > 0 {
		t.Error("the session is known")
	}
}

// TestCallsHearOfTheSocket: a call keeps to the gateway's own rights if its request came over the
// socket that claude's commands reach, whatever the client says.
func TestCallsHearOfTheSocket(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	check.OK(t, p.tools.Replace([]tools.Tool{{
		Name: "whence", Input: json.RawMessage(`{"type":"object"}`),
		Handle: func(_ context.Context, c tools.Call) (tools.Result, error) {
			return tools.Result{Text: fmt.Sprint("local: ", c.Local)}, nil
		},
	}}))
	g := serve(t, p)
	session := g.begin(t) // over TCP
	socket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.handler.ServeHTTP(w, r.WithContext(core.WithLocal(r.Context())))
	}))
	defer socket.Close()
	local := &gateway{Server: socket, client: g.client}
	for name, headers := range map[string][]string{
		"plain": nil, "stateless": streams(), "session": streams(headerSession, session), "earlier session": streams(headerSession, "earlier"),
	} {
		const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whence","arguments":{}}}`
		for where, to := range map[string]*gateway{"true": local, "false": g} {
			if _, body := to.send(t, "POST", call, append([]string{headerLocal, "forged"}, headers...)...); !strings.Contains(body, "local: "+where) {
				t.Errorf("%s: %s, want local: %s", name, body, where)
			}
		}
	}
}

// TestQuietLog: clients that come and go are not worth a line each.
func TestQuietLog(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	registry, err := tools.NewRegistry(tools.Options{Log: log})
	check.OK(t, err)
	p := &process{registry: registry}
	p.server = New(Options{Registry: p.registry, Name: Name, Version: "v1", Log: log})
	p.handler = p.server.Handler()
	g := serve(t, p)
	g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if said.Len() > 0 {
		t.Errorf("the log has\n%s", said.String())
	}
}

// TestRefusedSchema: a schema that the SDK refuses costs its own tool only.
func TestRefusedSchema(t *testing.T) {
	t.Parallel()
	bad := tools.Tool{
		Name: "bad", Input: json.RawMessage(`{"type":"object","properties":{"x":{"type":"object","x-mcp-header":"no name"}}}`),
		Handle: func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, nil },
	}
	g := serve(t, newProcessOf(t, []tools.Source{tools.Fixed("builtin", bad)}, "a"))
	if _, body := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(body, `"name":"a"`) || strings.Contains(body, `"name":"bad"`) {
		t.Errorf("the list is %s", body)
	}
}

// TestClientLeaves: a tool hears that the client of its call has left, also in versions of the protocol in
// which the call goes on.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]string{
		"plain":         nil,
		"with a stream": {"Accept", "application/json, text/event-stream"},
		"stateless":     {"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			heard := make(chan bool, 1)
			waits := tools.Tool{
				Name: "wait", Input: json.RawMessage(`{"type":"object"}`),
				Handle: func(ctx context.Context, c tools.Call) (tools.Result, error) {
					leave()
					select {
					case <-c.Gone:
						heard <- true
					case <-ctx.Done():
						heard <- true
					}
					return tools.Result{Text: "well"}, nil
				},
			}
			g := serve(t, newProcessOf(t, []tools.Source{tools.Fixed("builtin", waits)}))
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{}}}`
			if name == "stateless" {
				body = strings.Replace(body, `"arguments":{}`, `"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
					`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`, 1)
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL, strings.NewReader(body))
			check.OK(t, err)
			r.Header.Set("Content-Type", "application/json")
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			if answer, err := g.client.Do(r); err == nil {
				b, _ := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				if ctx.Err() == nil {
					t.Fatalf("%d %s", answer.StatusCode, b)
				}
			}
			select {
			case <-heard:
			case <-time.After(10 * time.Second):
				t.Error("the tool does not hear that the client has left")
			}
		})
	}
}
