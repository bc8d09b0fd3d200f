package mounts

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/mcpservers"
	"bareclaw/internal/testkit/oddserver"
)

// A webServer is a server over HTTP with two tools without hints, pay and look. Its fields are set before it is
// mounted.
type webServer struct {
	session string           // the id of its sessions; empty: it has none
	stream  http.HandlerFunc // opens the stream of what it says unasked; nil: it has none
	// call handles a call, of which there were some before, and reports whether it has answered. nil: it has not.
	call func(w http.ResponseWriter, r *http.Request, tool string, before int) bool
	web  *httptest.Server

	mu    sync.Mutex
	calls []string // the tools
}

// mountWeb mounts a server, which ends with the test.
func (h *house) mountWeb(name string, s *webServer, change func(s *Server)) {
	h.t.Helper()
	s.web = httptest.NewServer(s)
	h.t.Cleanup(func() {
		s.web.CloseClientConnections()
		s.web.Close()
	})
	h.mountURL(name, s.web.URL+"/mcp", change)
}

// mountURL writes the file with a server that has a URL. All its tools are allowed.
func (h *house) mountURL(name, address string, change func(s *Server)) {
	h.t.Helper()
	h.mount(name, func(s *Server) {
		s.Command = ""
		s.Args = nil
		s.URL = address
		s.Allow = []string{"*"}
		if change != nil {
			change(s)
		}
	})
}

// ServeHTTP implements [http.Handler].
func (s *webServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && s.stream != nil:
		s.stream(w, r)
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	text, _ := io.ReadAll(r.Body) // else there is no method
	_ = json.Unmarshal(text, &m)
	switch m.Method {
	case "initialize":
		if s.session != "" {
			w.Header().Set("Mcp-Session-Id", s.session)
		}
		answer(w, m.ID, `{"protocolVersion":"2025-11-25","serverInfo":{"name":"web","version":"1"},"capabilities":{"tools":{}}}`)
	case "tools/list":
		answer(w, m.ID, `{"tools":[{"name":"pay","inputSchema":{"type":"object"}},{"name":"look","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		if before := s.note(m.Params.Name); s.call == nil || !s.call(w, r, m.Params.Name, before) {
			answer(w, m.ID, `{"content":[{"type":"text","text":"done"}]}`)
		}
	case "server/discover":
		refuse(w, http.StatusOK, m.ID, -32601, "no such method")
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// note notes a call, and returns how many there were before.
func (s *webServer) note(tool string) (before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, tool)
	return len(s.calls) - 1
}

// called returns how often a tool was called.
func (s *webServer) called(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.calls), func(name string) bool { return name != tool }))
}

func answer(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":`+result+`}`)
}

// refuse answers with an error of the protocol.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int, words string) {
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"id":      id,
		"error":   map[string]any{"code": code, "message": words},
	})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// TestUnansweredStream: a server that leaves the request for its stream unanswered delays neither the end of the gateway
// nor that of a start for long, and works.
func TestUnansweredStream(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	asked := make(chan struct{}, 10)
	server := &webServer{stream: func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}}
	h.mountWeb("web", server, nil)
	p := h.start()
	<-asked
	began := time.Now()
	p.stop()
	late := errors.New("it takes too long")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, late)
	defer cancel()
	described := Server{Name: "web", URL: server.web.URL}
	if _, _, err := dial(ctx, &described, h.dir, "", p.room.log, func() {}); !errors.Is(err, late) {
		t.Errorf("a start that takes too long fails with %v", err)
	}
	if took := time.Since(began); took > streamTimeout/2 {
		t.Errorf("both take %s", took)
	}

	p = h.start()
	p.awaitTools("web_pay")
	if text, failed := p.call("web_pay", oddserver.Args{}); failed || text != "done" {
		t.Errorf("the tool says %q", text)
	}
}

// TestGatewayEndsDuringCallOverHTTP: a call that a server does not answer does not delay the end of the gateway, and ends
// with it.
func TestGatewayEndsDuringCallOverHTTP(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	began := make(chan struct{})
	ended := make(chan struct{})
	h.mountWeb("web", &webServer{call: func(_ http.ResponseWriter, r *http.Request, _ string, _ int) bool {
		close(began)
		<-r.Context().Done()
		close(ended)
		return true
	}}, nil)
	p := h.start()
	p.awaitTools("web_pay")
	failed := make(chan error, 1)
	go func() {
		_, err := p.registry.Call(context.Background(), "web_pay", tools.Call{Args: json.RawMessage("{}")})
		failed <- err
	}()
	<-began
	p.stop()
	<-ended
	if err := <-failed; !errors.Is(err, errEnded) {
		t.Errorf("the call fails with %v", err)
	}
}

// TestCallOverHTTPRunsOnce: a call without hints is repeated if the server has not begun it, and never otherwise.
func TestCallOverHTTPRunsOnce(t *testing.T) {
	t.Parallel()
	const unknown = "whether it was carried out is not known"
	for name, c := range map[string]struct {
		session string
		call    func(w http.ResponseWriter, r *http.Request, tool string, before int) bool
		want    string // in the result
		runs    int
		starts  int // after the tools were learned
	}{
		"connection cut": {
			call: func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					_ = conn.Close()
				}
				return true
			},
			want:   unknown,
			runs:   1,
			starts: 1,
		},
		"session unknown": {
			session: "one",
			call: func(w http.ResponseWriter, _ *http.Request, _ string, before int) bool {
				if before == 0 {
					refuse(w, http.StatusNotFound, nil, -32001, "Session not found")
				}
				return before == 0
			},
			want:   "done",
			runs:   2,
			starts: 2,
		},
		"session unknown, as in older servers": {
			session: "one",
			call: func(w http.ResponseWriter, _ *http.Request, _ string, before int) bool {
				if before == 0 {
					refuse(w, http.StatusBadRequest, nil, -32000, "Bad Request: No valid session ID provided")
				}
				return before == 0
			},
			want:   "done",
			runs:   2,
			starts: 2,
		},
		"call refused": {
			session: "one",
			call: func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
				refuse(w, http.StatusBadRequest, json.RawMessage("1"), -32602, "no such account")
				return true
			},
			want:   "no such account",
			runs:   1,
			starts: 1,
		},
		"call refused without its id": {
			call: func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
				refuse(w, http.StatusForbidden, nil, -32000, "no such host")
				return true
			},
			want:   "refuses the request (403 Forbidden): no such host",
			runs:   1,
			starts: 1,
		},
		"too many calls": {
			call: func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusTooManyRequests)
				return true
			},
			want:   "call again in 7 s",
			runs:   1,
			starts: 1,
		},
		"fault of the server": {
			call: func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
				w.WriteHeader(http.StatusInternalServerError)
				return true
			},
			want:   unknown,
			runs:   1,
			starts: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			server := &webServer{session: c.session, call: c.call}
			h.mountWeb("web", server, nil)
			p := h.start()
			p.awaitTools("web_pay")
			p.await("the server is idle", func() bool { return p.statusOf("web").State == StateIdle })
			text, failed := p.call("web_pay", oddserver.Args{})
			if failed != (c.want != "done") || !strings.Contains(text, c.want) {
				t.Errorf("the tool says %q, failed: %t", text, failed)
			}
			if starts := p.statusOf("web").Starts - 1; server.called("pay") != c.runs || starts != c.starts {
				t.Errorf("the tool ran %d times in %d sessions", server.called("pay"), starts)
			}
		})
	}
}

// TestLostSessionRepeatsNoOtherCall: a call that finds the session gone says nothing of another one under way.
func TestLostSessionRepeatsNoOtherCall(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	began := make(chan struct{})
	server := &webServer{session: "one"}
	server.call = func(w http.ResponseWriter, r *http.Request, tool string, before int) bool {
		switch {
		case tool == "pay":
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			close(began)
			<-r.Context().Done()
			return true
		case before == 1:
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		return false
	}
	h.mountWeb("web", server, nil)
	p := h.start()
	p.awaitTools("web_pay")
	said := make(chan string, 1)
	go func() {
		text, _ := p.call("web_pay", oddserver.Args{})
		said <- text
	}()
	<-began
	if text, failed := p.call("web_look", oddserver.Args{}); failed || text != "done" {
		t.Errorf("the call that finds the session gone says %q", text)
	}
	if text := <-said; !strings.Contains(text, "is not known") || server.called("pay") != 1 {
		t.Errorf("the other one ran %d times, and says %q", server.called("pay"), text)
	}
}

// TestUnreachableServer: a call that reaches no server is told so.
func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	server := &webServer{}
	h.mountWeb("web", server, nil)
	p := h.start()
	p.awaitTools("web_pay")
	if text, failed := p.call("web_pay", oddserver.Args{}); failed || text != "done" {
		t.Errorf("the tool says %q", text)
	}
	server.web.CloseClientConnections()
	server.web.Close()
	text, failed := p.call("web_pay", oddserver.Args{})
	if !failed || !strings.Contains(text, "connection refused") || strings.Contains(text, "is not known") {
		t.Errorf("without the server the tool says %q", text)
	}
}

// TestAuthorizationIsRefused: a server that refuses the token of the headers is not one that wants a login.
func TestAuthorizationIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(server.Close)
	h := newHouse(t)
	h.mountURL("web", server.URL, func(s *Server) { s.Headers = map[string]string{"authorization": "Bearer of-no-use"} })
	p := h.start()
	p.await("the token is refused", func() bool { return strings.Contains(p.statusOf("web").Problem, "refuses the Authorization") })
	if problem := p.statusOf("web").Problem; strings.Contains(problem, "OAuth") || strings.Contains(problem, "of-no-use") {
		t.Errorf("the problem is %q", problem)
	}
}

// TestRedirects: headers stay with their server.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server is asked, with %v", r.Header)
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	h := newHouse(t)
	h.mountURL("web", server.URL, func(s *Server) { s.Headers = map[string]string{"Authorization": "Bearer token"} })
	p := h.start()
	p.await("the redirect is refused", func() bool { return strings.Contains(p.statusOf("web").Problem, "not its own address") })

	origin := &url.URL{Scheme: "https", Host: "example.org", Path: "/mcp"}
	for address, want := range map[string]bool{
		"https://example.org/other": true,
		"http://example.org/mcp":    false, // where anybody can read along
		"https://example.com/mcp":   false,
		"https://example.org:1/mcp": false,
	} {
		at, err := url.Parse(address)
		check.OK(t, err)
		if isSameOrigin(at, origin) != want {
			t.Errorf("%s is of the same origin: %t", address, !want)
		}
	}
}

// TestEverythingOverHTTP: a real server is called, and again after it has been started anew.
func TestEverythingOverHTTP(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var server *url.URL
	start := func() {
		address, err := url.Parse(mcpservers.EverythingOverHTTP(t))
		check.OK(t, err)
		mu.Lock()
		defer mu.Unlock()
		server = address
	}
	start()
	front := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // the servers end before their proxy
		Rewrite: func(r *httputil.ProxyRequest) {
			mu.Lock()
			defer mu.Unlock()
			r.Out.URL = server
		},
	})
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	h := newHouse(t)
	h.mountURL("everything", front.URL, nil)
	p := h.start()
	p.awaitTools("everything_echo")
	for _, message := range []string{"before", "after"} {
		if message == "after" {
			start() // which knows no session
		}
		result, err := p.registry.Call(t.Context(), "everything_echo", tools.Call{Args: json.RawMessage(`{"message":"` + message + `"}`)})
		check.OK(t, err)
		if result.IsError || result.Text != "Echo: "+message {
			t.Errorf("the tool says %q", result.Text)
		}
	}
}
