package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestPlainTurn(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil, "--session-id", sid)
	c.control("i", `{"subtype":"initialize"}`)
	if r := c.next("control_response"); r.Response.Subtype != "success" || r.Response.RequestID != "i" {
		t.Errorf("initialize: %s", r.raw)
	}
	c.shapes()
	if got := c.ask(1, "[channel: http, adapter: http]\nhi <b>"); got != "ok: hi <b>" {
		t.Errorf("result = %q", got)
	}
	check(t, c.shapes(), []string{"queued 1", "started 1", "system init", "replay 1", "assistant", "result success", "completed 1"})
	if code := c.exit(); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	check(t, journalOf(t, c.dir), []string{"taken 1", "begun 1", "ended 1"})
}

func TestPartialMessages(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil, "--include-partial-messages")
	c.ask(1, "slow 8 end")
	stream := func(n int) []string { return strings.Split(strings.Repeat("stream_event ", n), " ")[:n] }
	want := append([]string{"queued 1", "started 1", "system init", "system status", "replay 1"}, stream(7)...)
	want = append(append(append(want, "assistant"), stream(3)...), "result success", "completed 1")
	check(t, c.shapes(), want)
}

func TestReports(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, dir, []string{"COLOUR=blue"}, "--session-id", sid)
	for i, row := range []struct{ text, want string }{
		{"[channel: x]\nnothing\necho found", "found"},
		{"echo", "ok: echo"},
		{"kill the process", "ok: kill the process"},
		{"[channel: x]\nprompt", "[channel: x]\nprompt"},
		{"size", "text=4 images=0"},
		{"pid", strconv.Itoa(c.cmd.Process.Pid)},
		{"env COLOUR", "blue"},
		{"env NONE", "(unset)"},
		{"cwd", dir},
		{"session", sid},
		{"/unknown command", "ok: /unknown command"},
		{"big 100000", strings.Repeat("x", 100_000)},
		{"events 3", "events 3"},
		{"ticks " + dir, "ticked 1"},
		{"apiretry 2 401", "apiretry 2"},
	} {
		id := fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", i)
		c.sendWith(0, row.text, map[string]any{"uuid": id})
		if r := c.next("result success"); *r.Result != row.want {
			t.Errorf("%q: result = %.80q, want %.80q", row.text, *r.Result, row.want)
		}
	}
	c.sendWith(1, []any{map[string]string{"type": "text", "text": "[channel: x]\n"}, map[string]string{"type": "image"}, map[string]string{"type": "text", "text": "size"}}, nil)
	if r := c.next("result success"); *r.Result != "text=4 images=1" {
		t.Errorf("size of blocks = %q", *r.Result)
	}
	var args []string
	if err := json.Unmarshal([]byte(c.ask(2, "args")), &args); err != nil || args[0] != "-p" || args[len(args)-1] != sid {
		t.Errorf("args = %q, %v", args, err)
	}
}

func TestMergedAndOwnTurns(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	gate := filepath.Join(c.dir, "gate")
	c.send(1, "wait "+gate)
	c.next("started 1")
	c.send(2, "echo second")
	c.send(3, "echo third")
	c.next("queued 3")
	touch(t, gate)
	c.next("completed 1")
	c.shapes()
	r := c.next("result success")
	if got := strings.Join(r.MessageUUIDs, " "); got != msgID(2)+" "+msgID(3) || *r.Result != "second" {
		t.Errorf("merged result names %s with %q", got, *r.Result)
	}
	c.next("completed 3")
	check(t, c.shapes(), []string{"replay 2", "started 2", "started 3", "system init", "replay 3", "assistant", "result success", "completed 2", "completed 3"})

	c.send(4, "wait "+gate+"2")
	c.next("started 4")
	c.send(5, "/context")
	c.send(6, "echo after")
	c.next("queued 6")
	touch(t, gate+"2")
	c.next("completed 4")
	if r := c.next("result success"); len(r.MessageUUIDs) != 1 || r.MessageUUIDs[0] != msgID(5) {
		t.Errorf("a slash command shares its turn: %q", r.MessageUUIDs)
	}
	c.next("completed 6")
}

func TestFold(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	gate := filepath.Join(c.dir, "gate")
	c.send(1, "toolwait "+gate)
	c.next("assistant")
	c.send(2, "[channel: x]\nmore")
	c.sendWith(3, "later", map[string]any{"priority": "later"})
	c.next("queued 3")
	c.shapes()
	touch(t, gate)
	r := c.next("result success")
	if want := "final: ran: wait for " + gate + "; noted: more"; *r.Result != want {
		t.Errorf("result = %q, want %q", *r.Result, want)
	}
	if len(r.MessageUUIDs) != 2 || r.MessageUUIDs[1] != msgID(2) {
		t.Errorf("result names %q, want both messages", r.MessageUUIDs)
	}
	c.next("completed 1")
	check(t, c.shapes(), []string{"user", "replay 2", "started 2", "assistant", "completed 2", "result success", "completed 1"})
	if r := c.next("result success"); *r.Result != "ok: later" {
		t.Errorf("the later message's result = %q", *r.Result)
	}
	check(t, journalOf(t, c.dir)[:7], []string{"taken 1", "begun 1", "tool 1", "taken 2", "taken 3", "begun 2", "ended 1"})
}

func TestPriorityNow(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	c.send(1, "wait "+filepath.Join(c.dir, "never"))
	c.next("started 1")
	c.sendWith(2, "echo urgent", map[string]any{"priority": "now"})
	if r := c.next("result success"); r.Reason != "aborted_streaming" || r.IsError {
		t.Errorf("aborted result: %s", r.raw)
	}
	c.next("cancelled 1")
	if r := c.next("result success"); *r.Result != "urgent" {
		t.Errorf("result = %q, want urgent", *r.Result)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	never := filepath.Join(c.dir, "never")
	c.send(1, "wait "+never)
	c.next("started 1")
	c.send(2, "echo queued")
	c.next("queued 2")
	c.shapes()
	c.control("r", `{"subtype":"interrupt"}`)
	if r := c.next("control_response"); !strings.Contains(string(r.Response.Response), msgID(2)) {
		t.Errorf("interrupt: %s", r.raw)
	}
	r := c.next("result error_during_execution")
	if !r.IsError || r.Reason != "aborted_streaming" || r.Result != nil || len(r.Errors) != 1 {
		t.Errorf("interrupted result: %s", r.raw)
	}
	c.next("completed 2")
	check(t, c.shapes(), []string{"control_response", "replay 1", "user", "result error_during_execution", "cancelled 1",
		"started 2", "system init", "replay 2", "assistant", "result success", "completed 2"})

	c.send(3, "toolwait "+never)
	c.next("assistant")
	c.send(4, "echo dropped")
	c.next("queued 4")
	c.control("s", `{"subtype":"interrupt","cancel_queued":true}`)
	c.next("cancelled 4")
	if r := c.next("result error_during_execution"); r.Reason != "aborted_tools" {
		t.Errorf("interrupted tool: %s", r.raw)
	}
	c.next("cancelled 3")
	if code := c.exit(); code != 1 {
		t.Errorf("exit code after an error = %d, want 1", code)
	}
}

func TestCancelQueued(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	gate := filepath.Join(c.dir, "gate")
	c.send(1, "wait "+gate)
	c.next("started 1")
	c.send(2, "echo gone")
	c.control("a", `{"subtype":"cancel_async_message","message_uuid":"`+msgID(2)+`"}`)
	c.next("cancelled 2")
	if r := c.next("control_response"); !strings.Contains(string(r.Response.Response), `"cancelled":true`) {
		t.Errorf("cancel: %s", r.raw)
	}
	c.control("b", `{"subtype":"cancel_async_message","message_uuid":"`+msgID(1)+`"}`)
	if r := c.next("control_response"); string(r.Response.Response) != `{"cancelled":false}` {
		t.Errorf("cancel of a running message: %s", r.raw)
	}
	c.control("c", `{"subtype":"no_such"}`)
	if r := c.next("control_response"); r.Response.Subtype != "error" || r.Response.Error != "Unsupported control request subtype: no_such" {
		t.Errorf("unknown request: %s", r.raw)
	}
	touch(t, gate)
	c.next("completed 1")
}

func TestPermission(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	request := func(n byte) event {
		c.send(n, "tool 1 ask rm")
		r := c.next("control_request")
		if !strings.HasPrefix(r.raw, `{"type":"control_request","request_id":"`+r.RequestID) {
			t.Errorf("can_use_tool: %s", r.raw)
		}
		return r
	}
	respond := func(r event, body string) {
		c.line(`{"type":"control_response","response":{"request_id":"` + r.RequestID + `",` + body + `}}`)
	}
	respond(request(1), `"subtype":"success","response":{"behavior":"allow","updatedInput":{"command":"ls"}}`)
	if r := c.next("result success"); *r.Result != "final: ran: ls" || len(r.Denials) != 0 {
		t.Errorf("allowed: %s", r.raw)
	}
	respond(request(2), `"subtype":"success","response":{"behavior":"deny","message":"not today"}`)
	if r := c.next("result success"); *r.Result != "final: not today" || len(r.Denials) != 1 {
		t.Errorf("denied: %s", r.raw)
	}
	respond(request(3), `"subtype":"error","error":"host failed"`)
	if r := c.next("result success"); !strings.HasSuffix(*r.Result, "Error: host failed") {
		t.Errorf("failed: %s", r.raw)
	}
	respond(request(4), `"subtype":"success","response":{"behavior":"deny","message":"no","interrupt":true}`)
	if r := c.next("result error_during_execution"); r.Reason != "aborted_tools" {
		t.Errorf("denied with interrupt: %s", r.raw)
	}
	question := request(5)
	c.control("i", `{"subtype":"interrupt"}`)
	if r := c.next("control_cancel_request", "control_response"); r.Type != "control_cancel_request" || r.RequestID != question.RequestID {
		t.Errorf("interrupt while asking: %s", r.raw)
	}
	c.next("cancelled 5")
	request(6)
	if code := c.exit(); code != 0 {
		t.Errorf("exit code = %d; saw %q", code, c.shapes())
	}
	if r := c.seen[len(c.seen)-2]; r.Result == nil || !strings.Contains(*r.Result, "stream closed") {
		t.Errorf("stdin closed while asking: %s", r.raw)
	}
	var tools int
	for _, line := range journalOf(t, c.dir) {
		if strings.HasPrefix(line, "tool ") {
			tools++
		}
	}
	if tools != 1 {
		t.Errorf("%d tools ran, want the one that was allowed", tools)
	}
}

func TestBackground(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	if got := c.ask(1, "background 20 the report"); !strings.HasPrefix(got, "final: Command running in background") {
		t.Errorf("result = %q", got)
	}
	c.shapes()
	if code := c.exit(); code != 0 {
		t.Errorf("exit code = %d", code)
	}
	r := c.seen[len(c.seen)-1]
	if r.Result == nil || *r.Result != "the report" || r.Origin == nil || r.MessageUUIDs != nil {
		t.Errorf("report: %s", r.raw)
	}
	check(t, c.shapes(), []string{"system task_updated", "system task_notification", "system background_tasks_changed", "system init", "assistant", "result success"})
}

func TestClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := start(t, dir, nil, "--session-id", sid)
	c.ask(1, "echo before")
	c.send(2, "/clear")
	c.next("conversation_reset")
	next := c.next("result success").Session
	if next == sid || next == "" {
		t.Errorf("session after /clear = %q", next)
	}
	if got := c.ask(3, "history"); got != `["history"]` {
		t.Errorf("history after /clear = %s", got)
	}
	c.exit()
	c = start(t, dir, nil, "--resume", sid)
	if got := c.ask(4, "history"); got != `["echo before","history"]` {
		t.Errorf("history of the old session = %s", got)
	}
	c = start(t, dir, nil, "--resume", next)
	if got := c.ask(5, "session"); got != next {
		t.Errorf("resumed session = %s, want %s", got, next)
	}
}

func TestFailedTurns(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	for i, row := range []struct{ text, shape, reason, status, state string }{
		{"apierror 400", "result success", "api_error", "400", "cancelled"},
		{"notloggedin", "result success", "api_error", "null", "cancelled"},
		{"maxturns", "result error_max_turns", "max_turns", "", "completed"},
	} {
		c.send(byte(i+1), row.text)
		r := c.next("result success", "result error_max_turns")
		if !r.is(row.shape) || !r.IsError || r.Reason != row.reason || string(r.APIStatus) != row.status {
			t.Errorf("%s: %s", row.text, r.raw)
		}
		c.next(row.state + " " + short(msgID(byte(i+1))))
	}
	if got := c.ask(4, "hello"); got != "ok: hello" {
		t.Errorf("the process does not go on: %q", got)
	}
	c.shapes()
	c.send(5, "noresult")
	c.next("completed 5")
	check(t, c.shapes(), []string{"queued 5", "started 5", "system init", "completed 5"})
}

func TestDeaths(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		code int
		last string
	}{
		{"die 3", 3, "system init"},
		{"kill", -1, "system init"},
		{"vanish", -1, "system init"},
		{"resultdie 4", 4, "result success"},
		{"maxturns 1", 1, "completed 1"},
	} {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			c := start(t, t.TempDir(), nil)
			c.send(1, row.text)
			if code := c.wait(); code != row.code {
				t.Errorf("exit code = %d, want %d", code, row.code)
			}
			shapes := c.shapes()
			if got := shapes[len(shapes)-1]; got != row.last {
				t.Errorf("last event = %q, want %q", got, row.last)
			}
		})
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "once " + filepath.Join(dir, "guard") + " die 3"
	c := start(t, dir, nil, "--session-id", sid)
	c.send(1, text)
	if code := c.wait(); code != 3 {
		t.Errorf("exit code = %d, want 3", code)
	}
	c = start(t, dir, nil, "--resume", sid)
	if got := c.ask(1, text); got != "again" {
		t.Errorf("second run = %q, want again", got)
	}
}

func TestNoise(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	if got := c.ask(1, "rubbish"); got != "rubbish" {
		t.Errorf("result = %q", got)
	}
	if !strings.Contains(strings.Join(c.shapes(), " "), "rubbish rubbish") {
		t.Error("no rubbish on stdout")
	}
	c.ask(2, "longline 70000")
	long := 0
	for _, e := range c.seen {
		if e.Type == "fake_bulk" {
			long = len(e.raw) + 1
		}
	}
	if long != 70000 {
		t.Errorf("long line has %d bytes, want 70000", long)
	}
	c.ask(3, "stderr 12345")
	c.exit()
	if n := len(c.stderr.String()); n != 12345 {
		t.Errorf("%d bytes on stderr, want 12345", n)
	}
}

func TestMute(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	c.send(1, "mute")
	c.next("system init")
	c.control("i", `{"subtype":"interrupt"}`)
	c.control("v", `{"subtype":"get_binary_version"}`)
	if r := c.next("control_response"); r.Response.RequestID != "v" {
		t.Errorf("the interrupt was answered: %s", r.raw)
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(); code != 143 {
		t.Errorf("exit code after SIGTERM = %d, want 143", code)
	}
}

func TestSIGINT(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	c.send(1, "wait "+filepath.Join(c.dir, "never"))
	c.next("system init")
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if r := c.next("result error_during_execution"); r.Reason != "aborted_streaming" {
		t.Errorf("result: %s", r.raw)
	}
	if code := c.wait(); code != 0 {
		t.Errorf("exit code after SIGINT = %d, want 0", code)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
