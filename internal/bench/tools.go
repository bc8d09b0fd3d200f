package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolRequests measures requests of MCP to a server that offers many tools, among them files in
// its tools directory, and the same requests to the SDK alone.
func toolRequests(ctx context.Context, l *lab, t target) ([]figure, error) {
	dir := filepath.Join(l.dir, "tools")
	return served(instant, func(ctx context.Context, s *server) ([]figure, error) { return s.toolRequests(ctx, dir) })(ctx, l, t.with("BARECLAW_TOOLS_DIR="+dir))
}

const (
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	callOwn   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"channel_list","arguments":{}}}`
	callMade  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bench_0","arguments":{}}}`
)

func (s *server) toolRequests(ctx context.Context, dir string) ([]figure, error) {
	c, err := dial(s.addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	all, err := s.makeTools(ctx, c, dir, s.lab.plan.tools)
	if err != nil {
		return nil, err
	}
	alone := httptest.NewServer(sdkAlone(all))
	defer alone.Close()
	bare, err := dial(alone.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	defer bare.Close()
	var own, made, list, bareCall, bareList []time.Duration
	for range s.lab.plan.toolRequests {
		for _, x := range []struct { // in turn, so that a busy moment hits all
			c     *client
			body  string
			times *[]time.Duration
		}{{c, callOwn, &own}, {bare, callOwn, &bareCall}, {c, callMade, &made}, {c, listTools, &list}, {bare, listTools, &bareList}} {
			began := time.Now()
			if _, err := s.rpc(x.c, x.body); err != nil {
				return nil, err
			}
			*x.times = append(*x.times, time.Since(began))
		}
	}
	many := strconv.Itoa(len(all)) + " tools"
	return []figure{
		ms("tools.call.sdk", "tools/call, the SDK alone, p50", median(bareCall)),
		ms("tools.call.p50", "tools/call of a tool of the daemon, p50", median(own)),
		ms("tools.call.p99", "tools/call of a tool of the daemon, p99", quantile(own, 0.99)),
		ms("tools.made.p50", "tools/call of a tool that is a file, p50", median(made)),
		ms("tools.made.p99", "tools/call of a tool that is a file, p99", quantile(made, 0.99)),
		ms("tools.list.sdk", "tools/list of "+many+", the SDK alone, p50", median(bareList)),
		ms("tools.list.p50", "tools/list of "+many+", p50", median(list)),
		ms("tools.list.p99", "tools/list of "+many+", p99", quantile(list, 0.99)),
		{id: "tools.list.ratio", name: "tools/list of " + many + ", p50, by that of the SDK alone", unit: "×", value: float64(median(list)) / float64(median(bareList))},
	}, nil
}

// makeTools writes files until the server has a number of tools, and returns all.
func (s *server) makeTools(ctx context.Context, c *client, dir string, count int) ([]*sdk.Tool, error) {
	all, err := s.awaitTools(ctx, c, func(all []*sdk.Tool) bool { // those of the tool host come last
		return slices.ContainsFunc(all, func(t *sdk.Tool) bool { return t.Name == "hello_world" })
	})
	for n := range max(0, count-len(all)) {
		name := "bench_" + strconv.Itoa(n)
		text := `export const tool = {name: "` + name + `", description: "Returns what it is given. ` + strings.Repeat("More of it. ", 10) + `",
  schema: {type: "object", properties: {text: {type: "string", description: "What to return."}}}, async handler(args) { return {text: args.text ?? ""}; }};`
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".ts"), []byte(text), 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.awaitTools(ctx, c, func(all []*sdk.Tool) bool { return len(all) >= count })
}

// awaitTools returns the server's tools once they are enough.
func (s *server) awaitTools(ctx context.Context, c *client, enough func([]*sdk.Tool) bool) (all []*sdk.Tool, err error) {
	var failed error
	err = await(ctx, time.Minute, 50*time.Millisecond, func() bool {
		all, failed = s.tools(c)
		return failed != nil || enough(all)
	})
	return all, errors.Join(failed, err)
}

// tools returns what the server offers.
func (s *server) tools(c *client) ([]*sdk.Tool, error) {
	body, err := s.rpc(c, listTools)
	if err != nil {
		return nil, err
	}
	var said struct{ Result sdk.ListToolsResult }
	err = json.Unmarshal(body, &said)
	return said.Result.Tools, err
}

// rpc sends a request of MCP and returns the response, which must be a result.
func (s *server) rpc(c *client, body string) ([]byte, error) { return s.rpcAt(c, "/mcp", body) }

// rpcAt is rpc for a path.
func (s *server) rpcAt(c *client, path, body string) ([]byte, error) {
	head := "POST " + path + " HTTP/1.1\r\nHost: " + s.addr + "\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	if c.RemoteAddr().String() == s.addr { // else the SDK's, which answers all in JSON
		head = strings.Replace(head, ", text/event-stream", "", 1)
	}
	status, answer, err := c.do([]byte(head+body), askTimeout)
	if err == nil && (status != http.StatusOK || !bytes.Contains(answer, []byte(`"result"`)) || bytes.Contains(answer, []byte(`"isError":true`))) {
		err = refusal{status, string(answer[:min(len(answer), 300)])}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", body, err)
	}
	return answer, nil
}

// encoded returns a schema as JSON, and nil of nil.
func encoded(schema any) any {
	if schema == nil {
		return nil
	}
	b, err := json.Marshal(schema)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return json.RawMessage(b)
}

// sdkAlone serves the same tools without the gateway.
func sdkAlone(all []*sdk.Tool) http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: "alone", Version: "1"}, &sdk.ServerOptions{PageSize: len(all) + 1})
	for _, t := range all {
		t.InputSchema, t.OutputSchema = encoded(t.InputSchema), encoded(t.OutputSchema) // as ours has them
		server.AddTool(t, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	}
	options := &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, Logger: slog.New(slog.DiscardHandler)}
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, options)
}
