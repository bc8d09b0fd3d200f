package claude

import (
	"encoding/json"

	"bareclaw/core"
	"bareclaw/internal/toolset"
)

// ToolServer is the name of the MCP server that a session host is for its claude.
const ToolServer = toolset.Server

// ToolRules is the rule that allows all tools of the server.
const ToolRules = toolset.Prefix + "*"

// Methods of MCP that the host or the daemon acts on.
const (
	MethodCall      = "tools/call"
	MethodList      = "tools/list"
	methodCancelled = "notifications/cancelled"
	methodChanged   = "notifications/tools/list_changed"
)

// The subtype of a control request that carries a message of MCP.
const carriesMCP = "mcp_message"

// An MCPMessage is a JSON-RPC message of claude to an MCP server behind its pipe. Each one needs
// an answer, notifications too: an unanswered message blocks claude.
type MCPMessage struct {
	RequestID string // of the control request
	Server    string
	Method    string          // "" for the answer to a request
	ID        json.RawMessage // nil for a notification
	Raw       json.RawMessage // the whole message
	Cancels   json.RawMessage // the ID of the request that a notification withdraws; nil for any other message
}

// MCPMessage returns the MCP message in the event, nil for any other event.
func (e *Event) MCPMessage() *MCPMessage {
	r, subtype, ok := e.ControlRequest()
	if !ok || subtype != carriesMCP {
		return nil
	}
	in := decoded[struct {
		Server  string          `json:"server_name"`
		Message json.RawMessage `json:"message"`
	}](e.request)
	m := decoded[struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}](in.Message)
	msg := &MCPMessage{RequestID: r.ID, Server: in.Server, Method: m.Method, ID: m.ID, Raw: in.Message}
	if m.Method == methodCancelled {
		msg.Cancels = decoded[struct {
			ID json.RawMessage `json:"requestId"`
		}](m.Params).ID
	}
	return msg
}

// IsRequest reports whether the message is a request, which needs a result.
func (m *MCPMessage) IsRequest() bool { return m.Method != "" && m.ID != nil }

// toolEvent fills in the event for a lane.
func (m *MCPMessage) toolEvent(t *core.Event) {
	switch {
	case m.Cancels != nil:
		t.Kind, t.ToolRequest = core.ToolCancelled, &core.ToolRequest{MessageID: string(m.Cancels)}
	case m.IsRequest():
		t.Kind, t.ToolRequest = core.ToolRequested, m.request()
	}
}

func (m *MCPMessage) request() *core.ToolRequest {
	return &core.ToolRequest{
		ID:        m.RequestID,
		Server:    m.Server,
		MessageID: string(m.ID),
		Message:   m.Raw,
	}
}

// ToolRequest returns the request to a tool server in the event, nil for any other event.
func (e *Event) ToolRequest() *core.ToolRequest {
	m := e.MCPMessage()
	if m == nil || !m.IsRequest() {
		return nil
	}
	return m.request()
}

// ResultLine answers an MCP request. A result that is no JSON becomes an error, because claude
// must get an answer.
func (m *MCPMessage) ResultLine(result json.RawMessage) []byte {
	value, err := oneLine(result)
	if err != nil {
		return m.ErrorLine(internalError, "The answer was malformed.")
	}
	return MCPResponseLine(m.RequestID, json.RawMessage(`{"jsonrpc":"2.0","id":`+m.id()+`,"result":`+string(value)+"}"))
}

// Codes of JSON-RPC.
const internalError = -32603

// RefusalLine answers an MCP request with an internal error.
func (m *MCPMessage) RefusalLine(why string) []byte { return m.ErrorLine(internalError, why) }

// ErrorLine answers an MCP request with an error, which the model reads if the request was a
// call.
func (m *MCPMessage) ErrorLine(code int, text string) []byte {
	b, err := json.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{code, text})
	if err != nil {
		panic("claude: a plain struct does not encode: " + err.Error())
	}
	return MCPResponseLine(m.RequestID, json.RawMessage(`{"jsonrpc":"2.0","id":`+m.id()+`,"error":`+string(b)+"}"))
}

// ReceivedLine answers a message that needs no result. claude waits for an answer to
// notifications too.
func (m *MCPMessage) ReceivedLine() []byte { return m.ResultLine(json.RawMessage("{}")) }

// id is a valid id, whatever claude has sent.
func (m *MCPMessage) id() string {
	if value, err := oneLine(m.ID); err == nil {
		return string(value)
	}
	return "0"
}

// MCPResponseLine answers the control request with a JSON-RPC response.
func MCPResponseLine(requestID string, response json.RawMessage) []byte {
	value, err := oneLine(response)
	if err != nil {
		return ErrorLine(requestID, "the answer was malformed")
	}
	return success(requestID, `{"mcp_response":`+string(value)+"}")
}

// ToolsChangedLine tells claude that the tools of the server have changed.
func ToolsChangedLine(requestID string) []byte {
	return requestLine(requestID, carriesMCP, `,"server_name":`+quote(ToolServer)+`,"message":{"jsonrpc":"2.0","method":`+quote(methodChanged)+"}")
}
