package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"syscall"

	"github.com/tmaxmax/go-sse"

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
	Annotations struct {
		ReadOnly   bool `json:"readOnlyHint"`
		Idempotent bool `json:"idempotentHint"`
	} `json:"annotations"`
}

// MayRunAgain reports whether a call of the tool does no harm if it may have been carried out before.
func (t *Tool) MayRunAgain() bool { return t.Annotations.ReadOnly || t.Annotations.Idempotent }

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
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// CodeInvalidParams is the code of JSON-RPC for the call of a tool that there is not.
const CodeInvalidParams = -32602

// MCP sends a request of the Model Context Protocol, and decodes its result into out. An error of
// the protocol is an [*Error] with the status 200.
func (c *Client) MCP(ctx context.Context, method string, params, out any) error {
	return c.mcp(ctx, api.PathMCP, method, params, out)
}

// mcp is MCP for the server at a path.
func (c *Client) mcp(ctx context.Context, path, method string, params, out any) error {
	var reply rpcMessage
	if err := c.Do(ctx, http.MethodPost, path, rpcRequest(method, params), &reply); err != nil {
		return err
	}
	return reply.decode(method, out)
}

func rpcRequest(method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
}

// An rpcMessage is a response of MCP, or a notification about the progress of a call.
type rpcMessage struct {
	Result json.RawMessage `json:"result"`
	rpcError
	Method string `json:"method"` // of a notification; empty: the message is a response
	Params struct {
		Meta struct {
			Approval string `json:"bareclaw/approval"` // for which the call waits
		} `json:"_meta"`
	} `json:"params"`
}

// decode decodes the result of a response into out.
func (m *rpcMessage) decode(method string, out any) error {
	if m.Error.Message != "" {
		return &Error{Status: http.StatusOK, RPC: m.Error.Code, Text: m.Error.Message}
	}
	if err := json.Unmarshal(m.Result, out); err != nil {
		return fmt.Errorf("understand the gateway's reply to %s: %w", method, err)
	}
	return nil
}

// ErrCut means that the gateway has ended before it answered: what was asked for may have been done.
var ErrCut = errors.New("the gateway has ended before it answered")

// CallTool calls a tool with arguments, an object, and decodes the result into out. asked is called with the id of
// the approval when the call begins to wait for a person. Commands of the user call tools over TCP: on the Unix
// socket a tool refuses what the agent may not do, in its result. The error holds ErrCut if the gateway ends
// meanwhile.
func (c *Client) CallTool(ctx context.Context, name string, args json.RawMessage, asked func(approval string), out any) error {
	if c.direct != nil {
		c = c.direct()
	}
	const method = "tools/call"
	params := map[string]any{
		"name":      name,
		"arguments": args,
		"_meta":     map[string]any{"progressToken": 1},
	}
	var response *rpcMessage
	header := http.Header{"Accept": {"application/json, text/event-stream"}}
	err := c.converse(ctx, header, rpcRequest(method, params), func(m *rpcMessage) {
		switch {
		case m.Method == "":
			response = m
		case m.Params.Meta.Approval != "":
			asked(m.Params.Meta.Approval)
		}
	})
	switch {
	case response != nil:
		return response.decode(method, out)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ErrCut
	}
	return err
}

// converse sends a request of MCP, and calls f with each message of the reply, which is a stream or one message.
func (c *Client) converse(ctx context.Context, header http.Header, in any, f func(*rpcMessage)) error {
	res, err := c.send(ctx, http.MethodPost, api.PathMCP, header, in)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	take := func(data []byte) error {
		var m rpcMessage
		if err := json.Unmarshal(data, &m); err != nil {
			return fmt.Errorf("understand the gateway's reply: %w", err)
		}
		f(&m)
		return nil
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media != "text/event-stream" { // empty where it is none
		body, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
		if err != nil {
			return fmt.Errorf("read the gateway's reply: %w", err)
		}
		return take(body)
	}
	for e, err := range sse.Read(res.Body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		switch {
		case err != nil:
			return fmt.Errorf("read the gateway's reply: %w", err)
		case e.Data == "":
			continue
		}
		if err := take([]byte(e.Data)); err != nil {
			return err
		}
	}
	return nil
}

// callName is the tool that calls another one, whose name is an argument.
const callName = "tool_call"

// ToolOf returns the tool that a call at a path reaches, as the gateway has it now; the zero value if there is none.
func (c *Client) ToolOf(ctx context.Context, path, name string, args json.RawMessage) (Tool, error) {
	var inner struct {
		Name string `json:"name"`
	}
	if name == callName && json.Unmarshal(args, &inner) == nil {
		name = inner.Name
	}
	var got struct{ Tools []Tool }
	if err := c.mcp(ctx, path, "tools/list", struct{}{}, &got); err != nil {
		return Tool{}, err
	}
	i := slices.IndexFunc(got.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, nil
	}
	return got.Tools[i], nil
}
