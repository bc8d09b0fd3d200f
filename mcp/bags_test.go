package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// A bagProcess serves bags as one process of the gateway does.
type bagProcess struct {
	registry *tools.Registry
	dynamic  *tools.List
	bags     *Bags
	named    map[string][]string
}

func newBagProcess(t *testing.T, named map[string][]string, names ...string) *bagProcess {
	t.Helper()
	p := &bagProcess{dynamic: tools.NewList("dynamic"), named: named}
	var err error
	p.registry, err = tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{tools.Dispatchers(), p.dynamic},
		Bags:    func() map[string][]string { return p.named },
	})
	check.OK(t, err)
	p.set(t, names...)
	p.bags = NewBags(Options{
		Registry: p.registry,
		Name:     Name,
		Version:  "v1",
		Log:      slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		for _, one := range p.bags.open {
			one.server.close()
		}
	})
	return p
}

// set makes the names the tools of the process; those that begin with browser have that category.
func (p *bagProcess) set(t *testing.T, names ...string) {
	t.Helper()
	all := named(names...)
	for i := range all {
		all[i].ByName = true
		if strings.HasPrefix(all[i].Name, "browser") {
			all[i].Category = tools.Browser
		}
	}
	check.OK(t, p.dynamic.Replace(all))
}

// serveBags serves the bags of one process after another.
func serveBags(t *testing.T, now *atomic.Pointer[bagProcess]) *gateway {
	t.Helper()
	g := &gateway{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().bags.ServeHTTP(w, r) }))
	t.Cleanup(func() {
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

// post sends a request to a bag.
func (g *gateway) post(t *testing.T, bag, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/"+bag, strings.NewReader(body))
	check.OK(t, err)
	rec := httptest.NewRecorder()
	g.Config.Handler.ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

// callTool is the request that calls a tool.
func callTool(name, args string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}`
}

// TestBag: a bag offers, finds and calls its tools alone.
func TestBag(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[bagProcess]
	now.Store(newBagProcess(t, map[string][]string{"mine": {"echo", "browser_c*"}}, "browser_click", "browser_type", "echo"))
	g := serveBags(t, &now)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for bag, want := range map[string]string{
		"browser": "browser_click browser_type tool_call tool_search",
		"utility": "echo tool_call tool_search",
		"mine":    "browser_click echo tool_call tool_search",
		"docker":  "tool_call tool_search",
		"all":     "browser_click browser_type echo tool_call tool_search",
	} {
		_, body := g.post(t, bag, list)
		var said struct{ Result sdk.ListToolsResult }
		check.OK(t, json.Unmarshal([]byte(body), &said))
		var names []string
		for _, tool := range said.Result.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("the bag %s offers %s, want %s", bag, got, want)
		}
	}
	for _, c := range []struct{ bag, body, has string }{
		{"browser", callTool("browser_click", "{}"), `"content"`},
		{"browser", callTool("echo", "{}"), `"code":-32602`},
		{"browser", callTool("tool_call", `{"name":"browser_click"}`), `"content"`},
		{"browser", callTool("tool_call", `{"name":"echo"}`), `there is no tool`},
		{"mine", callTool("tool_search", `{"query":"browser echo"}`), `browser_click`},
		{"browser", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `"name":"bareclaw"`},
	} {
		if status, body := g.post(t, c.bag, c.body); status != http.StatusOK || !strings.Contains(body, c.has) {
			t.Errorf("%s at %s: %d %s", c.body, c.bag, status, body)
		}
	}
	for _, bag := range []string{"none", "", "browser/x", "Browser"} {
		status, body := g.post(t, bag, list)
		if status != http.StatusNotFound || !json.Valid([]byte(body)) || !strings.Contains(body, "there are all, browser, database") || !strings.Contains(body, "mine") {
			t.Errorf("the bag %q: %d %s", bag, status, body)
		}
	}
	if n := len(now.Load().bags.open); n != 5 {
		t.Errorf("there are %d servers for 5 bags", n)
	}
}

// TestBagSessions: a session of a bag goes on with the next process, and hears of changes of tools and of the
// bag. It ends with the bag.
func TestBagSessions(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[bagProcess]
	first := newBagProcess(t, map[string][]string{"mine": {"a"}}, "a", "b")
	now.Store(first)
	g := serveBags(t, &now)
	changed := make(chan struct{}, 100)
	client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	})
	transport := &sdk.StreamableClientTransport{Endpoint: g.URL + "/mine", HTTPClient: g.client}
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	check.OK(t, err)
	defer func() { _ = session.Close() }()
	wants := func(want string) {
		t.Helper()
		list, err := session.ListTools(t.Context(), nil)
		check.OK(t, err)
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if got := fmt.Sprint(names); got != want {
			t.Errorf("the bag has %s, want %s", got, want)
		}
	}
	wants("[a tool_call tool_search]")
	next := newBagProcess(t, map[string][]string{"mine": {"a"}}, "a", "b")
	now.Store(next)
	g.CloseClientConnections()
	wants("[a tool_call tool_search]")
	next.named = map[string][]string{"mine": {"b"}}
	next.registry.BagsChanged()
	wants("[b tool_call tool_search]")

	// The client opens its stream again, with a pause.
	heard := func() bool {
		for n := range 100 {
			next.named = map[string][]string{"mine": {"b", fmt.Sprint("b", n)}}
			next.set(t, "a", "b", fmt.Sprint("b", n))
			next.registry.BagsChanged()
			next.bags.Offer()
			select {
			case <-changed:
				return true
			case <-time.After(200 * time.Millisecond):
			}
		}
		return false
	}
	if !heard() {
		t.Error("the client does not hear that its bag has changed")
	}
	next.named = nil
	next.registry.BagsChanged()
	next.bags.Offer()
	if _, err := session.ListTools(t.Context(), nil); err == nil {
		t.Error("the session of a bag that there is no more goes on")
	}
	if n := len(next.bags.open); n != 0 {
		t.Errorf("there are %d servers without a bag", n)
	}
}

// TestMetaOfTools: a client reads who is meant to carry a call out, and how often.
func TestMetaOfTools(t *testing.T) {
	t.Parallel()
	plain := describe(&tools.Tool{Name: "a"}).Meta
	if _, ok := plain["bareclaw/requiresWorker"]; ok || plain["bareclaw/retries"] != nil {
		t.Errorf("a tool without either: %v", plain)
	}
	full := describe(&tools.Tool{Name: "a", RequiresWorker: true, Retries: 2}).Meta
	if full["bareclaw/requiresWorker"] != true || full["bareclaw/retries"] != 2 {
		t.Errorf("a tool with both: %v", full)
	}
}
