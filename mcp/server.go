// Package mcp offers the gateway's tools by the Model Context Protocol: to clients over HTTP,
// and to the sessions of channels, whose session hosts pass requests on.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/guard"
	"bareclaw/internal/toolset"
	"bareclaw/internal/wait"
)

// Name is the server's name for clients and for claude.
const Name = toolset.Server

// instructions tell a model what the server is for. claude reads at most 4,096 characters.
const instructions = "Tools of the gateway that this conversation runs in. Search them with tool_search; call any of them with tool_call."

// Options are what a server is made with. All but View and Commands are required.
type Options struct {
	Registry *tools.Registry
	Commands Commands // whose prompts clients over HTTP see; nil: there are no prompts
	// View is what clients over HTTP see of the registry; the zero value is all of it. A session sees what
	// its channel may use.
	View    tools.View
	Name    string // of the server, for clients and for claude
	Version string // of the gateway
	Log     *slog.Logger
}

// A Server offers the tools of a registry.
type Server struct {
	tools   *tools.Registry
	view    tools.View
	name    string
	version string
	log     *slog.Logger
	sdk     *sdk.Server
	prompts *prompts
	changed wait.Signal // of the registry's tools; used by Offer and Follow
	clients clients     // of requests under way
	used    atomic.Bool // a client has come: the SDK's server, which takes much memory, knows no tools before

	mu      sync.Mutex                 // guards the fields below
	latest  int64                      // the version of the registry's tools that the SDK's server offers, or notOffered
	offered map[string]json.RawMessage // their descriptions, by name
}

// notOffered is no version of the registry's tools.
const notOffered = -1

// New returns a server without tools: Offer and Follow offer them.
func New(o Options) *Server {
	s := &Server{
		tools:   o.Registry,
		view:    o.View,
		name:    o.Name,
		version: o.Version,
		log:     o.Log,
		changed: o.Registry.Watch(),
		latest:  notOffered,
		offered: map[string]json.RawMessage{},
	}
	s.changed.Send() // the registry's tools are not offered yet
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: o.Name, Title: "BAREclaw", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Logger:       quiet(o.Log),
		PageSize:     maxTools,
		// There are no resources. Clients that ask all the same need an answer.
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		Capabilities: &sdk.ServerCapabilities{
			Logging: &sdk.LoggingCapabilities{}, //nolint:staticcheck // deprecated since 2026-07-28, and used by older clients
			Tools:   &sdk.ToolCapabilities{ListChanged: true},
			Prompts: &sdk.PromptCapabilities{ListChanged: true},
		},
	})
	all := o.Commands
	if all == nil {
		all = noCommands{}
	}
	s.prompts = newPrompts(all, s.sdk, o.Log)
	s.sdk.AddReceivingMiddleware(s.prompts.serve)
	s.sdk.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			s.used.Store(true)
			if s.wantsAll(method, r) {
				if err := s.awaitTools(ctx, r); err != nil {
					return nil, asRPCError(err)
				}
			}
			s.update() // a tool that was just made is there
			return next(ctx, method, r)
		}
	})
	return s
}

// wantsAll reports whether a request must wait until all tools are known: a moment after the start
// of the gateway.
func (s *Server) wantsAll(method string, r sdk.Request) bool {
	call, isCall := r.(*sdk.CallToolRequest)
	if !isCall {
		return method == methodList
	}
	_, known := s.tools.Find(call.Params.Name)
	return !known && s.view.MayHave(call.Params.Name)
}

// awaitTools waits until all tools are known. The error says why a call cannot be carried out.
func (s *Server) awaitTools(ctx context.Context, r sdk.Request) error {
	call, isCall := r.(*sdk.CallToolRequest)
	if !isCall {
		_ = s.tools.Wait(ctx, "") // else the list has what is known
		return nil
	}
	err := s.tools.Wait(ctx, call.Params.Name)
	switch _, known := s.tools.Find(call.Params.Name); {
	case known:
		return nil
	case errors.Is(err, core.ErrClosed):
		return tools.NotBegun(call.Params.Name, err)
	case err != nil:
		return err
	}
	return s.tools.Unknown(call.Params.Name, s.view)
}

// quiet returns a log for the SDK, whose words are about what clients do: nobody must act on them.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(debugging{log.Handler()}) }

// debugging makes all records those of the level Debug.
type debugging struct{ slog.Handler }

// Enabled reports whether the log has the level Debug.
func (d debugging) Enabled(ctx context.Context, _ slog.Level) bool {
	return d.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle handles a record with the level Debug.
func (d debugging) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return d.Handler.Handle(ctx, r)
}

// maxTools is more than anybody has: clients need not ask for further pages.
const maxTools = 100_000

// settleTime is how long changes of the tools are gathered before clients hear of them.
const settleTime = 100 * time.Millisecond

// Offer offers the registry's tools to clients. Offer and Follow must not run at the same time.
func (s *Server) Offer() {
	select {
	case <-s.changed: // by what is listed now
	default:
	}
	if s.used.Load() {
		s.update() // which tells the clients
	}
}

// close ends the sessions of clients, and waits for their calls, whose answers are lost. The server must not be used
// any more.
func (s *Server) close() {
	s.tools.Unwatch(s.changed)
	closeAll(slices.Collect(s.sdk.Sessions()))
}

// publishPause is the time between two attempts to publish.
const publishPause = 5 * time.Second

// Follow offers the registry's tools after each change since the last Offer, until ctx ends. publish offers them to
// sessions, with Answers, and is called again if it returns an error.
func (s *Server) Follow(ctx context.Context, publish func() error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		}
		if wait.Sleep(ctx, settleTime) != nil {
			return
		}
		for s.Offer(); publish() != nil; s.Offer() {
			if wait.Sleep(ctx, publishPause) != nil {
				return
			}
		}
	}
}

// update makes the SDK's server offer the registry's tools.
func (s *Server) update() {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.tools.Version()
	if version == s.latest {
		return
	}
	offered := map[string]json.RawMessage{}
	for _, t := range s.tools.List(s.view) {
		described := describe(&t)
		offered[t.Name] = encode(described)
		if !bytes.Equal(s.offered[t.Name], offered[t.Name]) {
			s.offer(described)
		}
	}
	for name := range s.offered {
		if offered[name] == nil {
			s.sdk.RemoveTools(name)
		}
	}
	s.latest, s.offered = version, offered
}

// offer makes the SDK's server offer a tool. The SDK panics if it refuses a schema, as one that names
// headers which HTTP does not allow; anybody may have written the schema, and the others are offered
// all the same.
func (s *Server) offer(t *sdk.Tool) {
	err := guard.Do(s.log, "offering a tool to clients over HTTP", func() error {
		s.sdk.AddTool(t, s.call)
		return nil
	}, "tool", t.Name)
	if err != nil {
		s.sdk.RemoveTools(t.Name) // the version before
	}
}

// Answers returns the answers of session hosts, by method, for sessions with the view that has a name;
// for "", with the gateway's own view.
func (s *Server) Answers(view string) map[string]json.RawMessage {
	listed := []*sdk.Tool{}
	for _, t := range s.tools.List(s.tools.Named(view)) {
		listed = append(listed, describe(&t))
	}
	return map[string]json.RawMessage{
		"initialize": encode(&sdk.InitializeResult{
			ProtocolVersion: sessionProtocol,
			ServerInfo:      &sdk.Implementation{Name: s.name, Version: s.version},
			Instructions:    instructions,
			Capabilities:    &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
		}),
		methodList: encode(map[string]any{"tools": listed}),
		methodPing: encode(struct{}{}),
	}
}

// sessionProtocol is the version that claude speaks with a server behind its pipe.
const sessionProtocol = "2025-11-25"

const (
	methodCall = "tools/call"
	methodList = "tools/list"
	methodPing = "ping"
)

// describe returns a tool as the SDK and clients see it: its JSON, and what claude reads beside.
func describe(t *tools.Tool) *sdk.Tool {
	d := &sdk.Tool{Name: t.Name, Title: t.Annotations.Title, Description: t.Description, InputSchema: t.Input}
	if t.Output != nil {
		d.OutputSchema = t.Output
	}
	if a := t.Annotations; a != (tools.Annotations{}) { // else clients hear of no hint that nobody gave
		d.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: a.ReadOnly, IdempotentHint: a.Idempotent, DestructiveHint: a.Destructive.Value(), OpenWorldHint: a.OpenWorld.Value()}
	}
	d.Meta = sdk.Meta{
		"bareclaw/source":   t.Source,
		"bareclaw/category": t.Category,
	}
	if t.Mount == "" {
		d.Meta["anthropic/maxResultSizeChars"] = maxResult
	} else {
		d.Meta["bareclaw/mount"] = t.Mount // whose long results are files already
	}
	if t.RequiresWorker {
		d.Meta["bareclaw/requiresWorker"] = true
	}
	if t.Retries > 0 {
		d.Meta["bareclaw/retries"] = t.Retries
	}
	if t.Pinned {
		d.Meta["anthropic/alwaysLoad"] = true // else claude must search for the tool first
	}
	return d
}

// maxResult is the most that claude shows the model of a result, in characters, if a tool asks
// for so much. Claude writes a longer result to a file and shows its beginning.
const maxResult = 500_000

// call carries out a call of a client over HTTP.
func (s *Server) call(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	c := tools.Call{Caller: tools.Caller{View: s.view}, Args: r.Params.Arguments}
	if r.Extra != nil {
		c.Local = r.Extra.Header.Get(headerLocal) != ""
		c.Gone = s.clients.find(r.Extra.Header.Get(headerClient))
	}
	if token := r.Params.GetProgressToken(); token != nil {
		c.Asked = func(approval string) { s.tellAsked(ctx, r.Session, token, approval) }
	}
	result, err := s.tools.Call(ctx, r.Params.Name, c)
	if err != nil {
		return nil, asRPCError(err)
	}
	return resultOf(result), nil
}

// sessionResultOf returns a result for the agent of a session. claude would leave out a text that stands
// beside an object.
func sessionResultOf(r tools.Result) *sdk.CallToolResult {
	if r.Text != "" {
		r.Structured = nil
	}
	return resultOf(r)
}

// resultOf returns a result for a client over HTTP.
func resultOf(r tools.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{IsError: r.IsError}
	text := r.Text
	if r.Structured != nil {
		out.StructuredContent = r.Structured
		if text == "" {
			text = string(r.Structured) // clients that know no structure read the same
		}
	}
	if text != "" || len(r.Blocks) == 0 {
		out.Content = []sdk.Content{&sdk.TextContent{Text: text}}
	}
	out.Content = append(out.Content, contentOf(r.Blocks)...)
	return out
}

// contentOf returns blocks as the SDK has them; none if one cannot be read.
func contentOf(blocks []json.RawMessage) []sdk.Content {
	if len(blocks) == 0 {
		return nil
	}
	var r sdk.CallToolResult
	if err := json.Unmarshal(encode(map[string]any{"content": blocks}), &r); err != nil {
		return nil
	}
	return r.Content
}

// Answer carries out a request of a channel's session, and returns the response. The response
// to a request that is no call of a tool is an error: session hosts answer the others. The
// response is nil when the gateway ends: the next process answers.
func (s *Server) Answer(ctx context.Context, channel core.ChannelKey, session string, r core.ToolRequest) json.RawMessage {
	result, err := s.answer(ctx, channel, session, r)
	if errors.Is(err, core.ErrClosed) {
		return nil
	}
	response := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(r.MessageID), "result": result}
	if err != nil {
		delete(response, "result")
		response["error"] = asRPCError(err)
	}
	return encode(response)
}

func (s *Server) answer(ctx context.Context, channel core.ChannelKey, session string, r core.ToolRequest) (any, error) {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
			Meta struct {
				CallID string `json:"claudecode/toolUseId"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if r.Server != s.name {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("there is no MCP server %.120q", r.Server)}
	}
	if err := json.Unmarshal(r.Message, &m); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	if m.Method != methodCall {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("there is no method %.120q", m.Method)}
	}
	result, err := s.tools.Call(ctx, m.Params.Name, tools.Call{
		Caller:    s.tools.Session(channel, session, r.Turn, r.Depth),
		ID:        m.Params.Meta.CallID,
		RequestID: r.ID,
		At:        r.At,
		Args:      m.Params.Args,
	})
	if err != nil {
		return nil, err
	}
	return sessionResultOf(result), nil
}

// CallsOf returns what became of the recorded calls of a session's turn.
func (s *Server) CallsOf(ctx context.Context, session string, turn core.TurnID) ([]core.ToolCall, error) {
	return s.tools.CallsOf(ctx, session, turn)
}

// dataAgain is the member of an error's data that says of a call which the end of the gateway has cut whether
// the call may be sent again. bareclaw mcp reads it.
const dataAgain = "bareclaw/again"

// asRPCError returns an error as JSON-RPC has it: only an unknown tool is a fault of the parameters.
func asRPCError(err error) *jsonrpc.Error {
	var known *jsonrpc.Error
	var cut *tools.CutError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, tools.ErrUnknown):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	case errors.As(err, &cut):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: cut.Error(), Data: encode(map[string]bool{dataAgain: cut.Again})}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("mcp: a plain value does not encode: " + err.Error())
	}
	return b
}

// methods are those that clients over HTTP may call.
var methods = []string{
	"initialize", methodPing, "server/discover", methodList, methodCall, "completion/complete", "logging/setLevel",
	"prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read", "resources/subscribe",
	"resources/unsubscribe", "subscriptions/listen",
}

func isMethod(m string) bool { return slices.Contains(methods, m) }

var _ http.Handler = (*Handler)(nil)
