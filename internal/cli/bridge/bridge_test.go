package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/testkit/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A conversation is a client on one side of a Bridge, and a scripted gateway on the other.
type conversation struct {
	*testing.T
	in  *io.PipeWriter
	out chan string // lines for the client
	end chan error  // the result of Run
}

// converse begins a conversation with a gateway at the address.
func converse(t *testing.T, b *Bridge) *conversation {
	t.Helper()
	in, w := io.Pipe()
	r, out := io.Pipe()
	c := &conversation{t, w, make(chan string, 100), make(chan error, 1)}
	b.Out = out
	go func() {
		c.end <- b.Run(t.Context(), in)
		_ = out.Close()
	}()
	go func() {
		defer close(c.out)
		for s := bufio.NewScanner(r); s.Scan(); {
			c.out <- s.Text()
		}
	}()
	t.Cleanup(func() { _ = w.Close() })
	return c
}

func (c *conversation) say(line string) {
	c.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	check.OK(c, err)
}

// hears waits for a line that contains the text.
func (c *conversation) hears(want string) {
	c.Helper()
	select {
	case line := <-c.out:
		if !strings.Contains(line, want) {
			c.Errorf("the client hears %s, want %s", line, want)
		}
	case <-time.After(20 * time.Second):
		c.Fatalf("the client hears nothing, want %s", want)
	}
}

// ends closes the input, and waits for the end.
func (c *conversation) ends() {
	c.Helper()
	_ = c.in.Close()
	if err := <-c.end; err != nil {
		c.Error(err)
	}
}

// gateway serves one handler for each request to /mcp, in order.
func gateway(t *testing.T, script ...http.HandlerFunc) *client.Client {
	t.Helper()
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return
		}
		mu.Lock()
		if len(script) == 0 {
			mu.Unlock()
			t.Errorf("one request too many")
			return
		}
		next := script[0]
		script = script[1:]
		mu.Unlock()
		next(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		if len(script) > 0 {
			t.Errorf("%d requests too few", len(script))
		}
	})
	return client.OverTCP(strings.TrimPrefix(s.URL, "http://"), "")
}

// answer answers in JSON.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// stream answers with events.
func stream(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", d)
		}
	}
}

// listed lists the tool x with a hint.
func listed(hint string) http.HandlerFunc {
	return answer(200, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"x","annotations":{"`+hint+`":true}}]}}`)
}

// die ends like a killed process.
func die(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const (
	list   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	call   = `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"x"}}`
	byName = `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"tool_call","arguments":{"name":"x"}}}`
	done   = `{"jsonrpc":"2.0","id":1,"result":{"done":true}}`
	ended  = `{"error":"The gateway is restarting.","code":"shutting_down"}`
	again  = `{"jsonrpc":"2.0","id":"c","error":{"code":-32603,"message":"cut","data":{"bareclaw/again":true}}}`
)

// TestPassing holds what a client hears of its messages.
func TestPassing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says   string
		script []http.HandlerFunc
		hears  []string
	}{
		"an answer in JSON":           {list, []http.HandlerFunc{answer(200, "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}\n")}, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}},
		"an answer as a stream":       {list, []http.HandlerFunc{stream(`{"jsonrpc":"2.0","method":"notifications/progress"}`, done)}, []string{"progress", done}},
		"an error":                    {list, []http.HandlerFunc{answer(404, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)}, []string{"-32601"}},
		"an error before the id":      {call, []http.HandlerFunc{answer(413, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"large"}}`)}, []string{`"error":{"code":-32600,"message":"large"},"id":"c"`}},
		"no JSON":                     {`{"half`, []http.HandlerFunc{answer(200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`)}, []string{`"id":null`}},
		"a refusal of the API":        {list, []http.HandlerFunc{answer(403, `{"error":"Not you.","code":"foreign_user"}`)}, []string{`"message":"Not you."},"id":1`}},
		"another program":             {list, []http.HandlerFunc{answer(502, `<html>`)}, []string{`The gateway answered 502 Bad Gateway.`}},
		"a batch":                     {"[" + list + "," + call + "]", []http.HandlerFunc{stream(done), stream(done)}, []string{done, done}},
		"a gateway that shuts down":   {call, []http.HandlerFunc{answer(503, ended), answer(503, ended), stream(done)}, []string{done}},
		"a list that is cut":          {list, []http.HandlerFunc{die, stream(), stream(done)}, []string{done}},
		"a call that is cut":          {call, []http.HandlerFunc{die, listed("destructiveHint")}, []string{`"id":"c","jsonrpc":"2.0","result":{"content":[{"text":"the gateway has ended before it answered. Whether x was carried out is not known: look before calling it again","type":"text"}],"isError":true}`}},
		"a call of what only reads":   {call, []http.HandlerFunc{die, listed("readOnlyHint"), stream(done)}, []string{done}},
		"a call by tool_call":         {byName, []http.HandlerFunc{die, die, answer(503, ended), listed("idempotentHint"), stream(done)}, []string{done}},
		"a call that is cut twice":    {call, []http.HandlerFunc{die, listed("readOnlyHint"), die}, []string{`Whether x was carried out is not known`}},
		"a tool that has gone":        {strings.Replace(call, `"x"`, `"y"`, 1), []http.HandlerFunc{die, listed("readOnlyHint")}, []string{`Whether y was carried out is not known`}},
		"a list that is refused":      {call, []http.HandlerFunc{die, answer(403, `{"error":"Not you.","code":"foreign_user"}`)}, []string{`Whether x was carried out is not known`}},
		"a call that may run again":   {call, []http.HandlerFunc{stream(again), answer(200, again), stream(done)}, []string{done}},
		"a call that may not":         {call, []http.HandlerFunc{stream(strings.Replace(again, "true", "false", 1))}, []string{"-32603"}},
		"a call that is cut half way": {call, []http.HandlerFunc{stream(`{"jsonrpc":"2.0","method":"notifications/progress"}`), listed("x")}, []string{"progress", `"id":"c"`}},
		"a subscription that is cut":  {`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`, []http.HandlerFunc{stream(`{"method":"a"}`), stream(`{"method":"b"}`, done)}, []string{`"a"`, `"b"`, done}},
		"a notification and a list":   {`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n\n" + list, []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, stream(done)}, []string{done}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := converse(t, &Bridge{Gateway: gateway(t, c.script...)})
			x.say(c.says)
			for _, want := range c.hears {
				x.hears(want)
			}
			x.ends()
			for line := range x.out {
				t.Errorf("the client also hears %s", line)
			}
		})
	}
}

// TestHeaders holds what the transport adds for each generation of clients.
func TestHeaders(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	note := func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		got <- strings.Join([]string{h.Get("Mcp-Session-Id"), h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name")}, ",")
		w.Header().Set("Mcp-Session-Id", "s1")
		stream(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`)(w, r)
	}
	x := converse(t, &Bridge{Gateway: gateway(t, note, note, note, note, note)})
	for _, c := range []struct{ says, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, ",,,"},
		{list, "s1,2025-06-18,,"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, ",2026-07-28,tools/call,x"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, ",2026-07-28,resources/read,a:b"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\n","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, ",2026-07-28,tools/call,"},
	} {
		x.say(c.says)
		if h := <-got; h != c.want {
			t.Errorf("%s has %s, want %s", c.says, h, c.want)
		}
		x.hears(`"result"`)
	}
	x.ends()
}

// TestPath reaches the server of a bag, and tells that there is no such bag.
func TestPath(t *testing.T) {
	unknown := answer(http.StatusNotFound, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"there is no bag"}}`)
	x := converse(t, &Bridge{Path: "/mcp/bags/browser", Gateway: gateway(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp/bags/browser" {
			t.Errorf("the request is for %s", r.URL.Path)
		}
		stream(done)(w, r)
	}, unknown)})
	x.say(list)
	x.hears(done)
	x.say(list)
	x.hears(`{"error":{"code":-32600,"message":"there is no bag"},"id":1,"jsonrpc":"2.0"}`)
	x.ends()
}

// TestRevival starts a gateway that is down for requests, once at a time, and says why it cannot.
func TestRevival(t *testing.T) {
	t.Parallel()
	l := httptest.NewUnstartedServer(nil)
	address := l.Listener.Addr().String()
	_ = l.Listener.Close() // nobody listens there
	revived := 0
	x := converse(t, &Bridge{Gateway: client.OverTCP(address, ""), Revive: func(context.Context) error {
		if revived++; revived < 2 {
			return nil
		}
		return errors.New("it was stopped by you")
	}})
	x.say(list)
	x.hears("it was stopped by you")
	x.ends()
	if revived != 2 {
		t.Errorf("revived %d times", revived)
	}
}

// TestCancelledCall: the gateway hears of it, and the client hears no response.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	began, left := make(chan struct{}), make(chan struct{})
	x := converse(t, &Bridge{Gateway: gateway(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(began)
		<-r.Context().Done()
		close(left)
	}, func(w http.ResponseWriter, r *http.Request) {
		var m message
		check.OK(t, json.NewDecoder(r.Body).Decode(&m))
		if string(m.Params.RequestID) != `"c"` {
			t.Errorf("cancelled: %s", m.Params.RequestID)
		}
		w.WriteHeader(http.StatusAccepted)
	})})
	x.say(call)
	<-began
	x.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`)
	<-left
	x.ends()
	if line, open := <-x.out; open {
		t.Errorf("the client hears %s", line)
	}
}

// TestLastRequest is answered although the input has ended.
func TestLastRequest(t *testing.T) {
	t.Parallel()
	ends := make(chan struct{})
	x := converse(t, &Bridge{Gateway: gateway(t, func(w http.ResponseWriter, r *http.Request) {
		<-ends
		stream(done)(w, r)
	})})
	x.say(list)
	check.OK(t, x.in.Close())
	close(ends)
	x.hears(done)
	x.ends()
}

// TestClientLeaves: a client that is not there any more ends the bridge.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	in, w := io.Pipe()
	defer func() { _ = w.Close() }()
	b := &Bridge{Gateway: gateway(t, stream(done)), Out: broken{}}
	end := make(chan error, 1)
	go func() { end <- b.Run(t.Context(), in) }()
	_, err := io.WriteString(w, list+"\n")
	check.OK(t, err)
	if err := <-end; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("ended with %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
