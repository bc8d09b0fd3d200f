package sessionhost

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/toolset"
	"bareclaw/sessionhost/claude"
)

// withTools gives the station's sessions the gateway's tools.
func (st *station) withTools() *station {
	st.o.ToolServer = st.path("tools.json")
	return st
}

// listed are the names of a daemon's tools: all of them for sessions without a view of their own.
type listed []string

// Answers implements ToolAnswers.
func (l listed) Answers(view string) map[string]json.RawMessage {
	tools := []map[string]string{}
	for _, name := range l {
		if view == "" || toolset.Set(view).Has(name) {
			tools = append(tools, map[string]string{"name": name})
		}
	}
	b, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		panic(err)
	}
	return map[string]json.RawMessage{"initialize": json.RawMessage(`{"serverInfo":{"name":"bareclaw"}}`), "ping": json.RawMessage(`{}`), claude.MethodList: b}
}

// offers makes a daemon offer tools of these names: all of them to sessions without a view of
// their own.
func (h *Hosts) offers(t testing.TB, names ...string) {
	t.Helper()
	check.OK(t, h.ServeTools(listed(names)))
	check.OK(t, h.OfferTools())
}

// startWithTools begins a session on channel "c" of a daemon with the tool "a".
func (st *station) startWithTools() *listener {
	st.t.Helper()
	h := st.withTools().hosts()
	h.offers(st.t, "a")
	return st.begin(h, core.Launch{SessionID: newID(st.t)})
}

// called returns the call that claude makes next, and acknowledges all up to there.
func (l *listener) called() core.ToolRequest {
	l.t.Helper()
	all := l.until(core.ToolRequested)
	l.Ack(all[len(all)-1].Seq)
	return *all[len(all)-1].ToolRequest
}

// responds answers a call with a text.
func (l *listener) responds(r core.ToolRequest, text string) {
	l.t.Helper()
	check.OK(l.t, l.Respond(r.ID, json.RawMessage(`{"jsonrpc":"2.0","id":`+r.MessageID+`,"result":{"content":[{"type":"text","text":`+quoted(text)+`}]}}`)))
}

// result returns the text of the next result.
func (l *listener) result() string {
	l.t.Helper()
	all := l.until(core.Resulted)
	return all[len(all)-1].Result.Text
}

// TestHostAnswersMCP has the host answer all but calls and unknown requests. Each answer has a
// response, for which claude would wait for ever.
func TestHostAnswersMCP(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.startWithTools()
	s.answers("tools", `["a"]`)
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`:                                       `{"jsonrpc":"2.0","id":7,"result":{}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping","params":{"_meta":{}}}`:               `{"jsonrpc":"2.0","id":"x","result":{}}`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/list"}`:                                 `{"jsonrpc":"2.0","id":8,"result":{"tools":[{"name":"a"}]}}`,
		`{"jsonrpc":"2.0","method":"notifications/strange"}`:                             `{"jsonrpc":"2.0","id":0,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`: `{"jsonrpc":"2.0","id":0,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`:                           `{"jsonrpc":"2.0","id":0,"result":{}}`,
		`{"jsonrpc":"2.0","id":9,"result":{}}`:                                           `{"jsonrpc":"2.0","id":9,"result":{}}`,
		`{}`:                                                                             `{"jsonrpc":"2.0","id":0,"result":{}}`,
	} {
		if got, want := s.answer("mcpsend "+message), `{"response":{"mcp_response":`+want+`},"error":""}`; got != want {
			t.Errorf("%s is answered with %s, want %s", message, got, want)
		}
	}
	s.hand(`mcpsend {"jsonrpc":"2.0","id":10,"method":"prompts/list"}`)
	r := s.called()
	if want := `{"jsonrpc":"2.0","id":10,"method":"prompts/list"}`; string(r.Message) != want {
		t.Errorf("the daemon gets %s, want %s", r.Message, want)
	}
	check.OK(t, s.Respond(r.ID, json.RawMessage(`{"jsonrpc":"2.0","id":10,"error":{"code":-32601,"message":"no"}}`)))
	if got := s.result(); !strings.Contains(got, `"mcp_response":{"jsonrpc":"2.0","id":10,"error":{"code":-32601,"message":"no"}}`) {
		t.Errorf("the answer of the daemon arrives as %s", got)
	}
	s.hand(`mcpsend {"jsonrpc":"2.0","id":11,"method":"prompts/list"}`)
	check.OK(t, s.Respond(s.called().ID, json.RawMessage(`rubbish`)))
	if got := s.result(); !strings.Contains(got, "malformed") {
		t.Errorf("a malformed answer of the daemon arrives as %s", got)
	}
}

// TestHostWithoutAnswers has no usable file: claude is answered all the same, and has tools as soon
// as there are any.
func TestHostWithoutAnswers(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"missing": "-", "empty": "", "cut": `{"initialize":{"serv`, "no object": `[]`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStation(t).withTools()
			if text != "-" {
				check.OK(t, os.WriteFile(st.o.ToolServer, []byte(text), 0o600))
			}
			h := st.hosts()
			s := st.begin(h, core.Launch{SessionID: newID(t)})
			s.answers("tools", `[]`)
			if got := s.answer(`mcpsend {"jsonrpc":"2.0","id":7,"method":"ping"}`); !strings.Contains(got, `"mcp_response":{"jsonrpc":"2.0","id":7,"error"`) {
				t.Errorf("a ping is answered with %s", got)
			}
			h.offers(t, "a", "b")
			st.eventually("claude has the tools", func() bool { return s.answer("tools") == `["a","b"]` })
		})
	}
}

// TestCallOutlivesDaemons has daemons come and go while claude waits for a tool: each is told of
// the call, the first answer counts, and the call is listed no more.
func TestCallOutlivesDaemons(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.startWithTools()
	s.hand(`mcp - a {"x":1}`)
	r := s.called()
	if !strings.Contains(string(r.Message), `"method":"tools/call"`) || !strings.Contains(string(r.Message), `"arguments":{"x":1}`) || r.MessageID == "" {
		t.Errorf("the call is %+v", r)
	}
	s.Detach()

	s = st.attach(2)
	if open := s.Info().Calls; len(open) != 1 || open[0].ID != r.ID || open[0].MessageID != r.MessageID || string(open[0].Message) != string(r.Message) || len(s.Info().Requests) > 0 {
		t.Fatalf("open calls are %+v", open)
	}
	s.responds(r, "first")
	s.responds(r, "second")
	all := s.until(core.Resulted)
	if got := all[len(all)-1].Result.Text; got != "final: first" {
		t.Errorf("result is %q", got)
	}
	if n := count(all, core.ToolRequested); n != 0 {
		t.Errorf("the call comes %d times as an event", n)
	}
	if open := st.attach(3).Info().Calls; len(open) != 0 {
		t.Errorf("open calls are %+v", open)
	}
}

// TestCallInterrupted interrupts a call: no later daemon carries it out, and its late answer does
// no harm. Nothing keeps an idle session.
func TestCallInterrupted(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.o.IdleTimeout = shortIdle
	s := st.startWithTools()
	s.hand("mcp - a {}")
	r := s.called()
	check.OK(t, s.Interrupt())
	all := s.until(core.ToolCancelled)
	if got := all[len(all)-1].ToolRequest.MessageID; got != r.MessageID {
		t.Errorf("message %s is cancelled, want %s", got, r.MessageID)
	}
	s.until(core.Resulted)
	if open := st.attach(2).Info().Calls; len(open) != 0 {
		t.Errorf("open calls are %+v", open)
	}
	s = st.attach(3)
	s.responds(r, "late")
	s.finish("echo hello")
	if n := strings.Count(st.read("journal"), `"event":"called"`); n != 0 {
		t.Errorf("claude has %d answers of a call that it has withdrawn", n)
	}
	host := st.record()
	s.Detach()
	st.gone("claude", host.ClaudePID, host.ClaudeStart)
}

// TestDaemonWithoutTools has a daemon of an older program take over: what waits for a tool is
// refused, and so is each later call, at once. The next daemon answers calls again.
func TestDaemonWithoutTools(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.startWithTools()
	s.hand("mcp - a {}")
	s.called()

	st.o.ToolServer = ""
	s = st.attach(2)
	if got := s.result(); got != "final: The gateway has no tools at present." {
		t.Errorf("what waited ends with %q", got)
	}
	s.answers("mcp - a {}", "final: The gateway has no tools at present.")
	s.answers("tools", `["a"]`) // the host answers, whatever the daemon knows
	if open := s.Info().Calls; len(open) != 0 {
		t.Errorf("an older daemon is told of calls: %+v", open)
	}

	st.withTools()
	s = st.attach(3)
	s.hand("mcp - a {}")
	s.responds(s.called(), "done")
	if got := s.result(); got != "final: done" {
		t.Errorf("a call of the next daemon ends with %q", got)
	}
}

// TestDaemonWithoutToolsRefusesAll has several calls and a permission wait: the calls alone are
// refused.
func TestDaemonWithoutToolsRefusesAll(t *testing.T) {
	t.Parallel()
	st := newStation(t).withTools()
	script := "read -r line; " // a turn
	for id := range strings.SplitSeq("123", "") {
		script += `echo '{"type":"control_request","request_id":"call ` + id + `","request":{"subtype":"mcp_message","server_name":"bareclaw","message":{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call"}}}'; `
	}
	script += `echo '{"type":"control_request","request_id":"ask","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}'; `
	st.shell(script + `cat > "$HOME/read"`)
	s := st.start()
	s.hand("go")
	s.until(core.Requested)
	st.o.ToolServer = ""
	s = st.attach(2)
	if open := s.Info(); len(open.Requests) != 1 || len(open.Calls) != 0 {
		t.Errorf("%d permission requests and %d calls wait, want 1 and 0", len(open.Requests), len(open.Calls))
	}
	st.eventually("all calls are refused", func() bool { return strings.Count(st.read("read"), "no tools at present") == 3 })
	if st.withTools(); len(st.attach(3).Info().Calls) != 0 {
		t.Error("refused calls still wait")
	}
}

// TestToolsChanged tells claude of a changed list, once for each change, whether a daemon was there
// or not.
func TestToolsChanged(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.startWithTools()
	h := st.generation(2)
	told := func(n int, want string) {
		t.Helper()
		st.eventually("claude has "+want, func() bool { return s.answer("tools") == want })
		if got := strings.Count(st.read("journal"), `"event":"list_changed"`); got != n {
			t.Errorf("claude was told %d times of changes, want %d", got, n)
		}
	}
	told(0, `["a"]`)
	attach := func(h *Hosts) {
		t.Helper()
		again, err := h.Attach(t.Context(), "c")
		check.OK(t, err)
		s = st.listen(again)
	}
	h.offers(t, "a") // the same list: nothing to tell
	attach(h)
	told(0, `["a"]`)
	h.offers(t, "a", "b")
	told(1, `["a","b"]`)
	h.offers(t, "a", "b")
	h.offers(t, "b")
	told(2, `["b"]`)
	s.Detach()
	h.offers(t, "c") // without a session
	h = st.generation(3)
	h.offers(t, "c")
	attach(h)
	told(3, `["c"]`)
	h = st.generation(4) // which offers nothing new, and not at once
	attach(h)
	told(3, `["c"]`)
	h.offers(t, "c")
	told(3, `["c"]`)
	h.offers(t, "d")
	told(4, `["d"]`)
}

// TestSessionWithoutTools has no server: claude's messages to one are refused.
func TestSessionWithoutTools(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h := st.hosts()
	h.o.ToolServer = ""
	s := st.begin(h, core.Launch{SessionID: newID(t)})
	s.answers("mcp - a {}", "final: No such tool available: mcp__bareclaw__a")
	if got := s.answer(`mcpsend {"jsonrpc":"2.0","id":7,"method":"ping"}`); !strings.Contains(got, "there is no MCP server") {
		t.Errorf("a ping is answered with %s", got)
	}
}

// TestSpareHearsOfChanges changes the tools while a session waits for a channel: the channel has the
// new ones, was told once, and can call them.
func TestSpareHearsOfChanges(t *testing.T) {
	t.Parallel()
	st := newStation(t).withTools()
	st.hosts().offers(t, "a")
	h, _ := st.spare()
	h.offers(t, "a", "b")
	s := st.begin(h, core.Launch{SessionID: st.reserve(h)})
	st.eventually("claude has the new tools", func() bool { return s.answer("tools") == `["a","b"]` })
	if n := strings.Count(st.read("journal"), `"event":"list_changed"`); n != 1 {
		t.Errorf("claude was told %d times of the change, want once", n)
	}
	s.hand("mcp - b {}")
	s.responds(s.called(), "done")
	if got := s.result(); got != "final: done" {
		t.Errorf("a call ends with %q", got)
	}
}

// TestSetsOfTools gives sessions sets of tools of their own: each claude has those of its set, hears
// of changes, also from a later daemon, and no file is left in the end.
func TestSetsOfTools(t *testing.T) {
	t.Parallel()
	st := newStation(t).withTools()
	h := st.hosts()
	h.offers(t, "a", "b", "c")
	s := st.begin(h, core.Launch{SessionID: newID(t), Settings: core.Settings{Tools: "b,d"}})
	s.answers("tools", `["b"]`)
	plain, err := h.Start(t.Context(), "plain", core.Launch{SessionID: newID(t)})
	check.OK(t, err)
	all := st.listen(plain)
	all.answers("tools", `["a","b","c"]`)
	h.offers(t, "a", "b", "c", "d")
	st.eventually("claude has the new tool of its set", func() bool { return s.answer("tools") == `["b","d"]` })
	s.Detach()
	all.Detach()

	h = st.generation(2)
	again, err := h.Attach(t.Context(), "c")
	check.OK(t, err)
	s = st.listen(again)
	s.answers("tools", `["b","d"]`)
	told := strings.Count(st.read("journal"), `"event":"list_changed"`)
	h.offers(t, "a", "b", "c", "d") // nothing has changed
	s.answers("tools", `["b","d"]`)
	if n := strings.Count(st.read("journal"), `"event":"list_changed"`); n != told {
		t.Errorf("claude was told %d times more of the same tools", n-told)
	}
	h.offers(t, "d")
	st.eventually("claude has what is left of its set", func() bool { return s.answer("tools") == `["d"]` })
	check.OK(t, h.RemoveToolAnswers())
	if left, err := filepath.Glob(st.path("tools*.json")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}
