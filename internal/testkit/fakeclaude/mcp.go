package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// An mcpClient is this program's end of the MCP server that the host is. The messages travel
// in control requests.
type mcpClient struct {
	s       *session
	server  string // its name; "" where the host is none
	nextID  int
	listing int // lists asked for and not yet answered
	tools   []string
	waiting map[string]func(mcpAnswer) // by control request
}

// An mcpAnswer is the host's answer to a message.
type mcpAnswer struct {
	Response struct {
		MCP json.RawMessage `json:"mcp_response"`
	} `json:"response"`
	Error string `json:"error"` // of the control request
}

// mcpResponse is a JSON-RPC response, as far as this program reads it.
type mcpResponse struct {
	Result struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Content    []block         `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// connect begins the handshake with the first server that the host names, and calls ready when
// the server has answered; at once without a server.
func (c *mcpClient) connect(servers []string, ready func()) {
	if len(servers) == 0 {
		ready()
		return
	}
	c.server = servers[0]
	c.request("initialize", object{"protocolVersion": "2025-11-25", "capabilities": object{}, "clientInfo": object{"name": "claude-code", "version": version}}, func(mcpAnswer) {
		ready()
		c.send(object{"jsonrpc": "2.0", "method": "notifications/initialized"}, func(mcpAnswer) {})
		c.list()
	})
}

// list asks for the tools. An error leaves the tools as they are.
func (c *mcpClient) list() {
	c.listing++
	c.request("tools/list", nil, func(a mcpAnswer) {
		c.listing--
		r := a.response()
		if r.Error != nil || a.Error != "" {
			c.s.note("unlisted", "", a.Error+string(a.Response.MCP))
			return
		}
		c.tools = nil
		for _, t := range r.Result.Tools {
			c.tools = append(c.tools, t.Name)
		}
		c.s.note("listed", "", strings.Join(c.tools, " "))
	})
}

func (c *mcpClient) request(method string, params any, then func(mcpAnswer)) (id int) {
	id = c.nextID
	c.nextID++
	message := ordered{"method", method, "jsonrpc", "2.0", "id", id}
	if params != nil {
		message = append(message, "params", params)
	}
	c.send(message, then)
	return id
}

// send sends any message. then is called with the answer, which notifications have too.
func (c *mcpClient) send(message any, then func(mcpAnswer)) {
	request := newID()
	c.waiting[request] = then
	c.s.emit(ordered{"type", "control_request", "request_id", request, "request", ordered{"subtype", "mcp_message", "server_name", c.server, "message", message}})
}

// answered takes the answer to a message, and reports whether it is one. A success without a
// response is none: the real program goes on waiting.
func (c *mcpClient) answered(request string, response json.RawMessage) bool {
	then := c.waiting[request]
	if then == nil {
		return false
	}
	var a mcpAnswer
	if json.Unmarshal(response, &a) == nil && (a.Error != "" || a.Response.MCP != nil) {
		delete(c.waiting, request)
		then(a)
	}
	return true
}

// told takes a message of the server.
func (c *mcpClient) told(message json.RawMessage) {
	var m struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(message, &m) == nil && m.Method == "notifications/tools/list_changed" {
		c.s.note("list_changed", "", "")
		c.list()
	}
}

func (a mcpAnswer) response() (r mcpResponse) {
	_ = json.Unmarshal(a.Response.MCP, &r) // no response: nothing
	return r
}

// outcome returns what the model reads of a call.
func (a mcpAnswer) outcome() (text string, isError bool) {
	r := a.response()
	if r.Error != nil || a.Error != "" {
		if r.Error != nil {
			return r.Error.Message, true
		}
		return a.Error, true
	}
	var texts []string
	for _, b := range r.Result.Content {
		texts = append(texts, b.Text)
	}
	if r.Result.Structured != nil && !r.Result.IsError {
		texts = []string{string(r.Result.Structured)}
	}
	return strings.Join(texts, "\n"), r.Result.IsError
}

// awaitTools serves stdin until the tools are known.
func (t *turn) awaitTools() {
	t.serve(nil, func() bool { return t.s.mcp.listing == 0 || t.s.lines == nil })
}

// callServer runs a turn of one call of a tool of the host's server, once the file exists; at
// once where the file is "-".
func (t *turn) callServer(file, name, argument string) {
	input := json.RawMessage(cmp.Or(argument, "{}"))
	if !json.Valid(input) {
		input = json.RawMessage("{}")
	}
	c := &t.s.mcp
	t.awaitTools()
	id := t.callTool("mcp__bareclaw__"+name, input)
	if file != "-" && !t.pauseForFile(file) {
		t.toolAborted(id, stoppedRunning)
		return
	}
	outcome, isError := "No such tool available: mcp__bareclaw__"+name, true
	if slices.Contains(c.tools, name) {
		outcome, isError = "interrupted before a result was received", true
		answered := false
		t.s.note("call", t.uuid, name)
		t.serverCall = ptr(c.request("tools/call", object{"name": name, "arguments": input, "_meta": object{"claudecode/toolUseId": id, "progressToken": c.nextID}}, func(a mcpAnswer) {
			answered = true
			outcome, isError = a.outcome()
			t.s.note("called", t.uuid, outcome)
		}))
		t.serve(nil, func() bool { return answered || t.s.lines == nil })
		if t.serverCall = nil; t.stopped {
			t.toolAborted(id, stoppedRunning)
			return
		}
	}
	t.toolResult(id, outcome, isError)
	t.answer("final: " + outcome + t.fold())
}

// cancelCall withdraws the running call, if there is one.
func (t *turn) cancelCall() {
	if t.serverCall != nil {
		t.s.mcp.send(object{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": object{"requestId": *t.serverCall, "reason": "AbortError: remote-cancel"}}, func(mcpAnswer) {})
	}
}

// sendServer runs a turn that sends the host's server any message, and says what was answered.
func (t *turn) sendServer(message string) {
	t.awaitTools()
	said := ""
	t.s.mcp.send(json.RawMessage(message), func(a mcpAnswer) { said = string(bytes.TrimSpace(encode(a))) })
	t.serve(nil, func() bool { return said != "" })
	if t.stopped {
		t.aborted("")
		return
	}
	t.answer(said)
}

// toolNames returns the tools of the host's server as a JSON array.
func (t *turn) toolNames() string {
	t.awaitTools()
	return string(bytes.TrimSpace(encode(append([]string{}, t.s.mcp.tools...))))
}
