package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"bareclaw/adapters/httpapi/api"
)

// A Tool is a tool of the gateway.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Meta        struct {
		Source string `json:"bareclaw/source"` // such as gateway
		Mount  string `json:"bareclaw/mount"`  // the mounted server; empty: the tool is of none
	} `json:"_meta"`
}

// A ToolResult is the result of a call. Structured, if there is any, is an object.
type ToolResult struct {
	Content    []ContentBlock  `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

// A ContentBlock is a part of a result: a text, an image, a sound, or a resource or a link to one.
type ContentBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"` // of an image or a sound
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
		Blob     []byte `json:"blob"`
	} `json:"resource"`
}

// An rpcError is a response of MCP that is an error.
type rpcError struct {
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// MCP sends a request of the Model Context Protocol, and decodes its result into out. An error of
// the protocol is an [*Error] with the status 200.
func (c *Client) MCP(ctx context.Context, method string, params, out any) error {
	var reply struct {
		Result json.RawMessage `json:"result"`
		rpcError
	}
	request := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	if err := c.Do(ctx, http.MethodPost, api.PathMCP, request, &reply); err != nil {
		return err
	}
	if reply.Error.Message != "" {
		return &Error{Status: http.StatusOK, Text: reply.Error.Message}
	}
	if err := json.Unmarshal(reply.Result, out); err != nil {
		return fmt.Errorf("understand the gateway's reply to %s: %w", method, err)
	}
	return nil
}

// CallTool calls a tool with arguments, an object, and decodes the result into out. Commands of the
// user call tools over TCP: on the Unix socket a tool refuses what the agent may not do, in its
// result.
func (c *Client) CallTool(ctx context.Context, name string, args json.RawMessage, out any) error {
	if c.direct != nil {
		c = c.direct()
	}
	return c.MCP(ctx, "tools/call", map[string]any{"name": name, "arguments": args}, out)
}
