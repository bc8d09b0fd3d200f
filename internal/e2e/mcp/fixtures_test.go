//nolint:staticcheck // The suite asks also for what is deprecated.
package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The suite prescribes all names and texts below: its scenarios call these tools, and read
// these resources and prompts.

var (
	// pixel is an image in PNG of one red pixel.
	pixel = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	// silence is a sound in WAV without a sample.
	silence = decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=")
)

func decode(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// An object is a JSON object.
type object = map[string]any

// schema returns the schema of an object with properties, of which some are required.
func schema(properties object, required ...string) object {
	s := object{"type": "object", "properties": properties}
	if required != nil {
		s["required"] = required
	}
	return s
}

var str = object{"type": "string"}

func text(format string, args ...any) *sdk.TextContent {
	return &sdk.TextContent{Text: fmt.Sprintf(format, args...)}
}

func result(content ...sdk.Content) *sdk.CallToolResult { return &sdk.CallToolResult{Content: content} }

func embedded(uri, mime, content string) *sdk.EmbeddedResource {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: mime, Text: content}}
}

// A fixture is the server of the suite.
type fixture struct{ *sdk.Server }

// newFixture returns a server with all that the suite asks for.
func newFixture(log *slog.Logger) *sdk.Server {
	f := fixture{sdk.NewServer(&sdk.Implementation{Name: "fixture", Version: "1"}, &sdk.ServerOptions{
		Logger: log,
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{"paris", "park"}}}, nil
		},
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})}
	f.constants()
	f.conversations()
	f.diagnostics()
	f.inputs()
	f.resources()
	f.prompts()
	return f.Server
}

func (f fixture) tool(name string, input any, handle sdk.ToolHandler) {
	f.AddTool(&sdk.Tool{Name: name, Description: "A tool of the suite.", InputSchema: input}, handle)
}

// constants adds tools that always return the same.
func (f fixture) constants() {
	image := &sdk.ImageContent{Data: pixel, MIMEType: "image/png"}
	for name, content := range map[string][]sdk.Content{
		"test_simple_text":       {text("This is a simple text response for testing.")},
		"test_image_content":     {image},
		"test_audio_content":     {&sdk.AudioContent{Data: silence, MIMEType: "audio/wav"}},
		"test_embedded_resource": {embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {
			text("Multiple content types test:"), image,
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		},
		"test_streaming_elicitation": {text("done")},
	} {
		f.tool(name, schema(object{}), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return result(content...), nil
		})
	}
	f.tool("test_error_handling", schema(object{}), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r := result(text("This tool intentionally returns an error for testing"))
		r.IsError = true
		return r, nil
	})
	echo := func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return result(text("%s", r.Params.Arguments)), nil
	}
	f.tool("json_schema_2020_12_tool", json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {
			"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
			"contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}
		},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false
	}`), echo)
	f.tool("test_x_mcp_header", schema(object{"region": object{"type": "string", "x-mcp-header": "Region"}}), echo)
}

// pause is the time between two notifications of a call.
const pause = 50 * time.Millisecond

// conversations adds tools that say or ask something before they return.
func (f fixture) conversations() {
	f.tool("test_tool_with_logging", schema(object{}), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := logTo(ctx, r.Session, line); err != nil {
				return nil, err
			}
			time.Sleep(pause)
		}
		return result(text("logged")), nil
	})
	f.tool("test_tool_with_progress", schema(object{}), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, done := range []float64{0, 50, 100} {
			if token := r.Params.GetProgressToken(); token != nil {
				if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
					return nil, err
				}
			}
			time.Sleep(pause)
		}
		return result(text("done")), nil
	})
	f.tool("test_sampling", schema(object{"prompt": str}, "prompt"), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var args struct{ Prompt string }
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			return nil, err
		}
		answer, err := r.Session.CreateMessage(ctx, sampling(args.Prompt, 100))
		if err != nil {
			return nil, err
		}
		said, _ := answer.Content.(*sdk.TextContent)
		return result(text("LLM response: %s", said.Text)), nil
	})
	f.tool("test_elicitation", schema(object{"message": str}, "message"), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var args struct{ Message string }
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			return nil, err
		}
		return elicit(ctx, r, "User response", args.Message, schema(object{"username": str, "email": str}, "username", "email"))
	})
	f.tool("test_elicitation_sep1034_defaults", schema(object{}), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return elicit(ctx, r, "Elicitation completed", "Please check", schema(object{
			"name":     object{"type": "string", "default": "John Doe"},
			"age":      object{"type": "integer", "default": 30},
			"score":    object{"type": "number", "default": 95.5},
			"status":   object{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
			"verified": object{"type": "boolean", "default": true},
		}))
	})
	f.tool("test_elicitation_sep1330_enums", schema(object{}), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		options := []string{"option1", "option2", "option3"}
		titled := func(prefix string) (all []object) {
			for i, nth := range []string{"First", "Second", "Third"} {
				all = append(all, object{"const": fmt.Sprint("value", i+1), "title": nth + " " + prefix})
			}
			return all
		}
		return elicit(ctx, r, "Elicitation completed", "Please choose", schema(object{
			"untitledSingle": object{"type": "string", "enum": options},
			"titledSingle":   object{"type": "string", "oneOf": titled("Option")},
			"legacyEnum":     object{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}},
			"untitledMulti":  object{"type": "array", "items": object{"type": "string", "enum": options}},
			"titledMulti":    object{"type": "array", "items": object{"anyOf": titled("Choice")}},
		}))
	})
	f.tool("test_reconnection", schema(object{}), func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if r.Extra.CloseSSEStream != nil { // the client comes back for the result
			r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: pause})
		}
		time.Sleep(pause)
		return result(text("Reconnection test completed")), nil
	})
}

func logTo(ctx context.Context, s *sdk.ServerSession, line string) error {
	return s.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: line})
}

func elicit(ctx context.Context, r *sdk.CallToolRequest, title, message string, form object) (*sdk.CallToolResult, error) {
	answer, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: message, RequestedSchema: form})
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(answer.Content)
	return result(text("%s: action=%s, content=%s", title, answer.Action, content)), err
}

// diagnostics adds tools that show how the server treats a single request.
func (f fixture) diagnostics() {
	f.tool("test_logging_tool", schema(object{}), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return result(text("logged")), logTo(ctx, r.Session, "logged")
	})
	f.tool("test_missing_capability", schema(object{}), func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if can := r.ClientCapabilities(); can != nil && can.Sampling != nil {
			return result(text("the client can")), nil
		}
		data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is needed", Data: data}
	})
	f.tool("test_trigger_tool_change", schema(object{}), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		f.tool("transient", schema(object{}), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return result(), nil })
		return result(text("changed")), nil
	})
	f.tool("test_trigger_prompt_change", schema(object{}), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		f.prompt("transient", nil, func(object) []sdk.Content { return nil })
		return result(text("changed")), nil
	})
}

func sampling(prompt string, limit int64) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{MaxTokens: limit, Messages: []*sdk.SamplingMessage{{Role: "user", Content: text("%s", prompt)}}}
}

func form(message, field, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: schema(object{field: object{"type": kind}}, field)}
}

// A round is what a tool asks the client for at a time, and the state that the client returns.
type round struct {
	asks  sdk.InputRequestMap
	state string
}

// inputs adds tools that return a request for input, and go on when they are called with it.
func (f fixture) inputs() {
	name := form("What is your name?", "name", "string")
	roots := &sdk.ListRootsParams{}
	f.asking("test_input_required_result_elicitation", round{asks: sdk.InputRequestMap{"user_name": name}})
	f.asking("test_input_required_result_sampling", round{asks: sdk.InputRequestMap{"capital_question": sampling("What is the capital of France?", 100)}})
	f.asking("test_input_required_result_list_roots", round{asks: sdk.InputRequestMap{"client_roots": roots}})
	f.asking("test_input_required_result_request_state", round{sdk.InputRequestMap{"confirm": form("Please confirm", "ok", "boolean")}, "state-ok"})
	f.asking("test_input_required_result_tampered_state", round{sdk.InputRequestMap{"confirm": form("Please confirm", "ok", "boolean")}, "signed"})
	f.asking("test_input_required_result_multiple_inputs",
		round{sdk.InputRequestMap{"user_name": name, "greeting": sampling("Generate a greeting", 50), "client_roots": roots}, "all"})
	f.asking("test_input_required_result_multi_round",
		round{sdk.InputRequestMap{"step1": form("Step 1: What is your name?", "name", "string")}, "1"},
		round{sdk.InputRequestMap{"step2": form("Step 2: What is your favorite color?", "color", "string")}, "2"})
	f.tool("test_input_required_result_capabilities", schema(object{}), func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		asks := sdk.InputRequestMap{}
		if can := r.ClientCapabilities(); can != nil && can.Sampling != nil {
			asks["sample"] = sampling("Say something", 50)
		}
		if can := r.ClientCapabilities(); can != nil && can.Elicitation != nil {
			asks["user_name"] = name
		}
		return &sdk.CallToolResult{InputRequests: asks}, nil
	})
}

// asking adds a tool that asks for the input of each round, and then returns all input.
func (f fixture) asking(tool string, rounds ...round) {
	f.tool(tool, schema(object{}), func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		p := r.Params
		at := max(0, slices.IndexFunc(rounds, func(x round) bool { return x.state == p.RequestState }))
		switch now := rounds[at]; {
		case p.RequestState != "" && p.RequestState != now.state:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the state is not one of this server"}
		case !answers(p.InputResponses, now.asks):
			return &sdk.CallToolResult{InputRequests: now.asks, RequestState: now.state}, nil
		case at+1 < len(rounds):
			return &sdk.CallToolResult{InputRequests: rounds[at+1].asks, RequestState: rounds[at+1].state}, nil
		default:
			all, err := json.Marshal(p.InputResponses)
			return result(text("%s %s", all, now.state)), err
		}
	})
}

// answers reports whether the client has answered all that it was asked for.
func answers(given sdk.InputResponseMap, asked sdk.InputRequestMap) bool {
	for key := range asked {
		if e, ok := given[key].(*sdk.ElicitResult); given[key] == nil || ok && e.Action == "accept" && len(e.Content) == 0 {
			return false
		}
	}
	return true
}

func (f fixture) resources() {
	for uri, c := range map[string]sdk.ResourceContents{
		"test://static-text":      {MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		"test://static-binary":    {MIMEType: "image/png", Blob: pixel},
		"test://watched-resource": {MIMEType: "text/plain", Text: "watched"},
	} {
		c.URI = uri
		f.AddResource(&sdk.Resource{URI: uri, Name: uri, Description: "A resource of the suite.", MIMEType: c.MIMEType}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&c}}, nil
		})
	}
	template := &sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", Description: "A template of the suite.", MIMEType: "application/json"}
	f.AddResourceTemplate(template, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
		data, err := json.Marshal(object{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(data)}}}, err
	})
}

func (f fixture) prompts() {
	f.prompt("test_simple_prompt", nil, func(object) []sdk.Content {
		return []sdk.Content{text("This is a simple prompt for testing.")}
	})
	f.prompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(args object) []sdk.Content {
		return []sdk.Content{text("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"])}
	})
	f.prompt("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(args object) []sdk.Content {
		uri, _ := args["resourceUri"].(string)
		return []sdk.Content{embedded(uri, "text/plain", "Embedded resource content for testing."), text("Please process the embedded resource above.")}
	})
	f.prompt("test_prompt_with_image", nil, func(object) []sdk.Content {
		return []sdk.Content{&sdk.ImageContent{Data: pixel, MIMEType: "image/png"}, text("Please analyze the image above.")}
	})
	asks := sdk.InputRequestMap{"user_context": form("What context should the prompt use?", "context", "string")}
	f.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "A prompt of the suite."}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if !answers(r.Params.InputResponses, asks) {
			return &sdk.GetPromptResult{InputRequests: asks}, nil
		}
		return messages(text("with context")), nil
	})
}

func (f fixture) prompt(name string, args []string, content func(object) []sdk.Content) {
	p := &sdk.Prompt{Name: name, Description: "A prompt of the suite."}
	for _, arg := range args {
		p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: arg, Description: "An argument.", Required: true})
	}
	f.AddPrompt(p, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		given := object{}
		for name, value := range r.Params.Arguments {
			given[name] = value
		}
		return messages(content(given)...), nil
	})
}

func messages(content ...sdk.Content) *sdk.GetPromptResult {
	r := &sdk.GetPromptResult{}
	for _, c := range content {
		r.Messages = append(r.Messages, &sdk.PromptMessage{Role: "user", Content: c})
	}
	return r
}
