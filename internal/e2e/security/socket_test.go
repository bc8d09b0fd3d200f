package security

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// calledAt has a client at /mcp call a tool of the gateway, and returns the answer.
func calledAt(g *harness.Gateway, tool string, args harness.Obj) string {
	g.T.Helper()
	answer, err := called(g, tool, args)
	check.OK(g.T, err)
	return answer
}

// called is calledAt for any goroutine.
func called(g *harness.Gateway, tool string, args harness.Obj) (answer string, err error) {
	a, err := g.Do("POST", "/mcp", harness.Obj{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": harness.Obj{"name": tool, "arguments": args},
	}, "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-06-18")
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("%s at /mcp: got %d %s", tool, a.Status, a.Body)
	}
	return strings.ReplaceAll(string(a.Body), `\"`, `"`), err
}

// decided has a person decide about the call of a tool, and returns the answer that the call gets then.
func decided(g *harness.Gateway, tool string, decision harness.Obj, call func() (string, error)) string {
	g.T.Helper()
	type result struct {
		answer string
		err    error
	}
	ended := make(chan result, 1)
	go func() {
		answer, err := call()
		ended <- result{answer, err}
	}()
	var id string
	g.Eventually("a person is asked about "+tool, func() bool {
		for _, a := range g.Must("GET", "/approvals", nil, 200).Array("approvals") {
			if a.Str("kind") == "call" && a.Str("tool") == "mcp__bareclaw__"+tool && a.Str("why") != "" {
				id = a.Str("id")
			}
		}
		return id != ""
	})
	g.Must("POST", "/approvals/"+id, decision, 200)
	r := <-ended
	check.OK(g.T, r.err)
	return r.answer
}

// TestCommandsOfClaudeAtTheSocket asks the real api.sock, which the commands that Claude runs reach, for
// what would widen what Claude may do, and to have the agent of a channel act that may do more than the
// gateway's own settings allow. Nothing of it happens, unless a person allows a call. The rest is served, and the user's own commands
// and heartbeat reach that channel over TCP.
func TestCommandsOfClaudeAtTheSocket(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_APPROVALS=ask", "BARECLAW_SOURCE="+t.TempDir(),
		"BARECLAW_HEARTBEAT_MESSAGE=echo **HEARTBEAT_OK**", harness.SlotLength(0))
	for _, channel := range []string{"boss", "heartbeat"} {
		g.Must("PATCH", "/channels/"+channel, harness.Obj{"permission_mode": "bypassPermissions"}, 200)
	}
	kept := g.Schedule("boss", "echo kept", "in 3h")
	failed := g.Say("boss", "maxturns").Str("message_id")
	asked := g.Tell("asks", `call Bash {"command":"ls"}`)
	var approval string
	g.Eventually("a person is asked", func() bool {
		for _, a := range g.Must("GET", "/approvals", nil, 200).Array("approvals") {
			approval = a.Str("id")
		}
		return approval != ""
	})

	toolUser{g}.host() // else its routes answer that it is starting
	socket := g.OverSocket()
	for _, request := range []struct {
		op   string
		body harness.Obj
	}{
		{"POST /upgrade", harness.Obj{"path": "/bin/true"}},
		{"POST /upgrade", harness.Obj{"rollback": true}},
		{"POST /restart", nil}, // builds the source
		{"POST /approvals/" + approval, harness.Obj{"behavior": "allow"}},
		{"POST /approvals/" + approval, harness.Obj{"behavior": "allow", "always": true}},
		{"PATCH /channels/asks", harness.Obj{"permission_mode": "bypassPermissions"}},
		{"PATCH /channels/asks", harness.Obj{"tools": "all"}},
		{"POST /message", harness.Obj{"channel": "boss", "text": "echo attacked"}},
		{"POST /messages/" + failed + "/retry", nil},
		{"DELETE /messages/" + failed, nil},
		{"POST /schedules", harness.Obj{"channel": "boss", "text": "echo attacked", "when": "in 1h"}},
		{"POST /schedules", harness.Obj{"channel": "asks", "text": "echo attacked", "when": "in 1h", "precheck": "true"}},
		{"DELETE /schedules/" + kept, nil},
		{"POST /schedules/heartbeat/run", harness.Obj{"due": "2026-01-02T03:04:05Z"}},
		{"DELETE /channels/boss", nil},
		{"POST /channels/boss/interrupt", nil},
		{"DELETE /toolhost/tools/mine", nil},
		{"POST /toolhost/shutdown", nil},
	} {
		method, path, _ := strings.Cut(request.op, " ")
		var body any
		if request.body != nil {
			body = request.body
		}
		a, err := socket.Do(method, path, body)
		check.OK(t, err)
		a.Refused(t, request.op, http.StatusForbidden, "not_on_socket")
	}
	made := harness.Obj{"name": "made", "description": "d", "schema": harness.Obj{"type": "object"}, "code": "return 'made';"}
	const refused = "was not carried out: a person has refused it"
	deny := harness.Obj{"behavior": "deny"}
	for tool, args := range map[string]harness.Obj{
		"channel_send": {"channel": "boss", "text": "echo attacked"}, "push_send": {"channel": "boss", "text": "attacked"},
		"schedule_create": {"channel": "boss", "text": "echo attacked", "when": "in 1h"}, "schedule_delete": {"id": kept},
		"dynamic_tool_create": made, "worker_restart": nil, "worker_rollback": nil, "restart_self": nil,
	} {
		got := decided(g, tool, deny, func() (string, error) { return called(socket, tool, args) })
		if !strings.Contains(got, refused) {
			t.Errorf("%s at the socket's /mcp: got %s", tool, got)
		}
	}
	got := decided(g, "dynamic_tool_create", deny, func() (string, error) {
		a, err := socket.Do("POST", "/toolhost/call", harness.Obj{"tool": "dynamic_tool_create", "args": made})
		return string(a.Body), err
	})
	if !strings.Contains(got, refused) {
		t.Errorf("a tool for all, by the socket's /toolhost/call: %s", got)
	}
	if n := m.Begun("attacked"); n != 0 {
		t.Errorf("the agent that may do more was told to act %d times", n)
	}
	if all := g.Must("GET", "/schedules", nil, 200).Array("schedules"); len(all) != 1 || all[0].Str("id") != kept {
		t.Errorf("the schedules are %v", all)
	}
	if waiting := g.Must("GET", "/approvals", nil, 200).Array("approvals"); len(waiting) != 1 {
		t.Errorf("%d approvals wait", len(waiting))
	}

	socket.Say("peer", "echo served").Want(t, "served")
	socket.Must("DELETE", "/schedules/"+socket.Schedule("peer", "echo later", "in 3h"), nil, 200)
	if got := calledAt(socket, "channel_send", harness.Obj{"channel": "peer", "text": "echo passed on"}); !strings.Contains(got, "passed on") {
		t.Errorf("a message to a channel that may do no more: %s", got)
	}
	got = decided(g, "channel_send", harness.Obj{"behavior": "allow"}, func() (string, error) {
		return called(socket, "channel_send", harness.Obj{"channel": "boss", "text": "echo as allowed"})
	})
	if !strings.Contains(got, "as allowed") {
		t.Errorf("what a person has allowed: %s", got)
	}
	m.Command(exitcode.OK, "send", "boss", "echo by the user").Shows("by the user")
	m.Beat(0)
	m.WantBeats("ok", 1)

	g.Must("POST", "/approvals/"+approval, harness.Obj{"behavior": "deny"}, 200)
	g.Outcome(asked)
	g.Balanced()
}
