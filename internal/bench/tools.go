package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// manyTools is the number of tools of the gateway whose list is measured.
const manyTools = 150

// toolCalls measures the tools of the gateway over MCP: calls, lists, tools that are made, and
// the process that runs them.
func toolCalls(ctx context.Context, s *server) ([]figure, error) {
	c, err := dial(s.addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	pid, err := c.toolHost(ctx, s)
	if err != nil {
		return nil, err
	}
	time.Sleep(settle)
	_, idle, err := sizeOf(pid)
	if err != nil {
		return nil, errCannotSee
	}
	m := toolMeter{server: s, client: c}
	var figures []figure
	health := m.times(s.lab.plan.calls, func(int) []byte { return s.request(http.MethodGet, "/health") }, "pid")
	calls := m.times(s.lab.plan.calls, func(int) []byte { return s.toolCall("hello_world", `{"name":"you"}`) }, "Hello, you!")
	made := m.times(manyTools-m.count(), func(n int) []byte {
		return s.toolCall("dynamic_tool_create", fmt.Sprintf(`{"name":"made_%d","description":"Add numbers","schema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"code":"return { sum: args.a + args.b };"}`, n))
	}, "created successfully")
	scripts := m.times(s.lab.plan.calls, func(int) []byte { return s.toolCall("made_0", `{"a":1,"b":2}`) }, `{"sum":3}`)
	lists := m.times(s.lab.plan.calls/10, func(int) []byte { return s.rpc("tools/list", `{}`) }, "made_0")
	starts := m.times(s.lab.plan.restarts, func(int) []byte { return s.toolCall("worker_restart", `{}`) }, "restarted")
	if m.err != nil {
		return nil, m.err
	}
	for _, f := range []struct {
		id, name string
		times    []time.Duration
	}{
		{"health", "GET /health, for comparison", health},
		{"call", "call of a built-in tool", calls},
		{"script", "call of a tool in TypeScript", scripts},
		{"list", "list of " + strconv.Itoa(manyTools) + " tools", lists},
		{"made", "make a tool, until it can be called", made},
		{"start", "restart of the tool host with " + strconv.Itoa(manyTools) + " tools", starts},
	} {
		figures = append(figures, ms("tools."+f.id+".p50", f.name+", p50", median(f.times)), ms("tools."+f.id+".p99", f.name+", p99", quantile(f.times, 0.99)))
	}
	figures = append(figures, mib("tools.host", "tool host PSS, idle", idle))
	_, pss, err := sizeOf(s.daemon())
	return append(figures, mib("tools.daemonpss", "daemon PSS, with "+strconv.Itoa(manyTools)+" tools", pss)), err
}

// rpc returns the bytes of a request of MCP.
func (s *server) rpc(method, params string) []byte {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	return []byte("POST /mcp HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

func (s *server) toolCall(name, args string) []byte {
	return s.rpc("tools/call", `{"name":"`+name+`","arguments":`+args+`}`)
}

// toolHost returns the process id of the tool host, once it runs.
func (c *client) toolHost(ctx context.Context, s *server) (pid int, err error) {
	var answer struct {
		Result struct {
			Structured struct {
				PID int `json:"pid"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	awaited := await(ctx, readyWithin, time.Millisecond, func() bool {
		_, body, doErr := c.do(s.toolCall("worker_status", `{}`), time.Second)
		if err = doErr; err == nil {
			err = json.Unmarshal(body, &answer)
		}
		return err != nil || answer.Result.Structured.PID != 0
	})
	if err == nil {
		err = awaited
	}
	return answer.Result.Structured.PID, err
}

// A toolMeter takes times on one connection. After an error it does nothing.
type toolMeter struct {
	*server
	*client
	err error
}

// times sends n requests, each of which must be answered with a text, and returns how long the
// answers took.
func (m *toolMeter) times(n int, request func(int) []byte, want string) (took []time.Duration) {
	for i := 0; i < n && m.err == nil; i++ {
		began := time.Now()
		status, body, err := m.do(request(i), askTimeout)
		took = append(took, time.Since(began))
		if m.err = err; err == nil && (status != http.StatusOK || !bytes.Contains(body, []byte(want))) {
			m.err = refusal{status, string(body[:min(len(body), 300)])}
		}
	}
	return took
}

// count returns the number of tools.
func (m *toolMeter) count() (n int) {
	var list struct {
		Result struct {
			Tools []struct{} `json:"tools"`
		} `json:"result"`
	}
	_, body, err := m.do(m.rpc("tools/list", `{}`), askTimeout)
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	m.err = err
	return len(list.Result.Tools)
}
