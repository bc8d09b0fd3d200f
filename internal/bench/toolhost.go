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

// toolHost measures the process that runs tools: its size, how long a restart takes, and how
// long it takes to make a tool.
func toolHost(ctx context.Context, s *server) ([]figure, error) {
	c, err := dial(s.addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	pid := 0
	err = await(ctx, readyWithin, time.Millisecond, func() bool {
		pid, err = s.toolHostPID(c)
		return err != nil || pid != 0
	})
	if err != nil {
		return nil, err
	}
	time.Sleep(settle)
	_, idle, err := sizeOf(pid)
	if err != nil {
		return nil, errCannotSee
	}
	starts, err := s.timeCalls(c, s.lab.plan.toolRestarts, "restarted", func(int) string { return callOf("worker_restart", `{}`) })
	if err != nil {
		return nil, err
	}
	made, err := s.timeCalls(c, s.lab.plan.tools, "created", func(n int) string {
		return callOf("dynamic_tool_create", fmt.Sprintf(`{"name":"made_%d","description":"Add numbers","schema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"code":"return { sum: args.a + args.b };"}`, n))
	})
	if err != nil {
		return nil, err
	}
	many := strconv.Itoa(s.lab.plan.tools) + " tools"
	full, err := s.timeCalls(c, s.lab.plan.toolRestarts, "restarted", func(int) string { return callOf("worker_restart", `{}`) })
	figures := []figure{mib("toolhost.pss", "tool host PSS, idle", idle)}
	for _, f := range []struct {
		id, name string
		times    []time.Duration
	}{
		{"start", "restart of the tool host", starts},
		{"full", "restart of the tool host with " + many + " in files", full},
		{"made", "make a tool, until it can be called", made},
	} {
		figures = append(figures, ms("toolhost."+f.id+".p50", f.name+", p50", median(f.times)), ms("toolhost."+f.id+".p99", f.name+", p99", quantile(f.times, 0.99)))
	}
	return figures, err
}

// callOf returns the call of a tool.
func callOf(name, args string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}`
}

// timeCalls sends n requests and returns how long each took. Each must be answered with a text.
func (s *server) timeCalls(c *client, n int, want string, request func(int) string) (took []time.Duration, err error) {
	for i := range n {
		began := time.Now()
		answer, err := s.rpc(c, request(i))
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		if !bytes.Contains(answer, []byte(want)) {
			return nil, refusal{http.StatusOK, string(answer)}
		}
	}
	return took, nil
}

// toolHostPID returns the process id of the tool host; 0 while none runs.
func (s *server) toolHostPID(c *client) (int, error) {
	var answer struct {
		Result struct {
			Structured struct {
				PID int `json:"pid"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	body, err := s.rpc(c, callOf("worker_status", `{}`))
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	return answer.Result.Structured.PID, err
}
