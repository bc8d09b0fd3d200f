package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// mountedRole makes this program an MCP server.
	mountedRole = "mounted-server"
	// mountedServers is how many servers are mounted, and mountedTools how many tools each has.
	mountedServers = 10
	mountedTools   = 10
)

// serveMounted is an MCP server whose tools return what they are given.
func serveMounted(ctx context.Context) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "mounted", Version: "1"}, nil)
	for n := range mountedTools {
		server.AddTool(&sdk.Tool{
			Name:        fmt.Sprintf("echo_%d", n),
			Description: "Returns the text that it is given.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","description":"What to return."}}}`),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
		}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	}
	return server.Run(ctx, &sdk.StdioTransport{})
}

// callMounted calls a tool of a mounted server.
const callMounted = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"server_0_echo_0","arguments":{"text":"hello"}}}`

// mountRequests measures what mounted servers cost a daemon that has just started while none runs, and calls of one:
// beside those of a tool of the daemon, and calls of the same server without the gateway.
func mountRequests(ctx context.Context, s *server) ([]figure, error) {
	before, err := s.settled()
	if err == nil {
		err = s.mountServers(ctx)
	}
	if err == nil {
		err = s.startAnew(ctx)
	}
	if err != nil {
		return nil, err
	}
	after, err := s.settled()
	if err != nil {
		return nil, err
	}
	own, mounted, direct, err := s.timeMounted(ctx)
	if err != nil {
		return nil, err
	}
	return []figure{
		mib("mounts.idle.pss", fmt.Sprintf("daemon PSS, idle, added by %d mounted servers with %d tools", mountedServers, mountedServers*mountedTools), after-before),
		ms("mounts.direct.p50", "tools/call of a server behind a pipe, without the gateway, p50", median(direct)),
		ms("mounts.own.p50", "tools/call of a tool of the daemon, p50", median(own)),
		ms("mounts.call.p50", "tools/call of a mounted server's tool, p50", median(mounted)),
		ms("mounts.call.p99", "tools/call of a mounted server's tool, p99", quantile(mounted, 0.99)),
		ms("mounts.added.p50", "the same, more than that of a tool of the daemon, p50", median(mounted)-median(own)),
	}, nil
}

// settled returns the PSS of the daemon, which nobody has used, in bytes.
func (s *server) settled() (float64, error) {
	time.Sleep(4 * settle)
	_, pss, err := sizeOf(s.daemon())
	return pss, err
}

// awaitMounted returns when the tools of all mounted servers are known.
func (s *server) awaitMounted(ctx context.Context) error {
	c, err := dial(s.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = s.awaitTools(ctx, c, func(all []*sdk.Tool) bool {
		for n := range mountedServers {
			has := func(t *sdk.Tool) bool { return t.Name == fmt.Sprintf("server_%d_echo_0", n) }
			if !slices.ContainsFunc(all, has) {
				return false
			}
		}
		return true
	})
	return err
}

// mountServers mounts servers, which are this program, and returns when their tools are known.
func (s *server) mountServers(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	servers := map[string]any{}
	for n := range mountedServers {
		servers[fmt.Sprintf("server_%d", n)] = map[string]any{"command": self, "args": []string{mountedRole}}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return err
	}
	dir := filepath.Join(s.dir, "home", ".config", "bareclaw")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), text, 0o600); err != nil {
		return err
	}
	return s.awaitMounted(ctx)
}

// timeMounted times calls of a tool of the daemon, of a mounted server, and of the same server without the gateway.
func (s *server) timeMounted(ctx context.Context) (own, mounted, direct []time.Duration, err error) {
	c, err := dial(s.addr)
	if err != nil {
		return nil, nil, nil, err
	}
	defer c.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	bare := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := bare.Connect(ctx, &sdk.CommandTransport{Command: exec.CommandContext(ctx, self, mountedRole)}, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = session.Close() }()           // it has been used
	if _, err := s.rpc(c, callMounted); err != nil { // starts the server
		return nil, nil, nil, err
	}
	params := &sdk.CallToolParams{Name: "echo_0", Arguments: json.RawMessage(`{"text":"hello"}`)}
	for range s.lab.plan.toolRequests {
		for _, x := range []struct { // in turn, so that a busy moment hits all
			call  func() error
			times *[]time.Duration
		}{
			{func() error { _, err := s.rpc(c, callOwn); return err }, &own},
			{func() error { _, err := s.rpc(c, callMounted); return err }, &mounted},
			{func() error { _, err := session.CallTool(ctx, params); return err }, &direct},
		} {
			began := time.Now()
			if err := x.call(); err != nil {
				return nil, nil, nil, err
			}
			*x.times = append(*x.times, time.Since(began))
		}
	}
	return own, mounted, direct, nil
}
