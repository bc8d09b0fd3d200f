package host

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// noToolsText answers a call that no daemon will carry out.
const noToolsText = "The gateway has no tools at present."

// onMCPMessage handles a message of claude to the gateway's tools. The host answers what the
// file of the daemon has an answer for, and notifications. Other requests wait for the daemon.
func (h *host) onMCPMessage(m *claude.MCPMessage, raw []byte, at time.Time) (forDaemon bool) {
	switch {
	case h.b.ToolServer == "" || m.Server != claude.ToolServer:
		h.child.send(claude.ErrorLine(m.RequestID, "there is no MCP server "+m.Server), true)
		return false
	case !m.IsRequest(): // a notification, or an answer to a request of ours
		if m.Cancels != nil {
			h.mu.Lock()
			h.requests.remove(func(q request) bool { return q.call == string(m.Cancels) })
			h.mu.Unlock()
		}
		h.child.send(m.ReceivedLine(), true)
		return m.Cancels != nil
	}
	if result, err := h.ownAnswer(m.Method); err != nil {
		h.log.Error("claude's request to the gateway's tools not answered", "method", m.Method, "err", err)
		h.child.send(m.RefusalLine(noToolsText), true)
		return false
	} else if result != nil {
		if m.Method == claude.MethodList {
			h.mu.Lock()
			h.toolList = protocol.ListID(result)
			h.mu.Unlock()
		}
		h.child.send(m.ResultLine(result), true)
		return false
	}
	h.mu.Lock()
	refuse := h.noTools
	if !refuse {
		h.requests.add(request{m.RequestID, string(m.ID), raw, at})
	}
	h.mu.Unlock()
	if refuse {
		h.child.send(m.RefusalLine(noToolsText), true)
	}
	return !refuse
}

// ownAnswer returns the result that the daemon's file has for a method, nil without one. The
// file is read each time: 200 hosts keep no copy.
func (h *host) ownAnswer(method string) (json.RawMessage, error) {
	if method == claude.MethodCall { // the usual request
		return nil, nil
	}
	b, err := os.ReadFile(h.b.ToolServer)
	if err != nil {
		return nil, err
	}
	var results map[string]json.RawMessage
	if err := json.Unmarshal(b, &results); err != nil {
		return nil, fmt.Errorf("read %s: %w", h.b.ToolServer, err)
	}
	return results[method], nil
}

// setTools records whether the newest daemon carries out calls. If it does not, the calls that
// wait are refused. h.mu is held.
func (h *host) setTools(hello protocol.Frame) {
	h.noTools = !hello.Tools
	if !h.noTools {
		return
	}
	h.requests.remove(func(q request) bool {
		if ev, err := claude.Decode(q.raw); err == nil && q.call != "" {
			h.child.send(ev.MCPMessage().RefusalLine(noToolsText), true)
		}
		return q.call != ""
	})
}
