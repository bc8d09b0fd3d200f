package oddserver

import (
	"encoding/json"
	"fmt"
)

// Args are the arguments of the server's own tools: Act, Read, Set and Destroy, which differ in their
// annotations alone.
type Args struct {
	Action string `json:"action,omitempty"` // see actions; empty: answer
	Text   string `json:"text,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`
	File   string `json:"file,omitempty"`
	Log    string `json:"log,omitempty"`  // a file that gets a line, Text, before anything else is done
	Once   string `json:"once,omitempty"` // a file: if it cannot be created, the call is answered with "again"
}

// The server's own tools.
const (
	Act     = "act"     // has no annotations
	Read    = "read"    // readOnlyHint
	Set     = "set"     // idempotentHint
	Destroy = "destroy" // destructiveHint
	Later   = "later"   // readOnlyHint; see modes
)

const argsSchema = `{
	"type": "object",
	"properties": {
		"action": {"type": "string"}, "text": {"type": "string"}, "bytes": {"type": "integer"},
		"file": {"type": "string"}, "log": {"type": "string"}, "once": {"type": "string"}
	}
}`

// ownTools returns the server's own tools, of which act has a description.
func ownTools(description string) []json.RawMessage {
	if description == "" {
		description = "Do what the arguments say"
	}
	tools := []json.RawMessage{tool(Act, description, argsSchema)}
	for _, t := range []struct{ name, hint string }{
		{Read, "readOnlyHint"},
		{Set, "idempotentHint"},
		{Destroy, "destructiveHint"},
	} {
		tools = append(tools, hinted(t.name, t.hint))
	}
	return tools
}

// hinted returns a tool with a hint.
func hinted(name, hint string) json.RawMessage {
	return encode(map[string]any{
		"name":        name,
		"description": "Do what the arguments say, with a hint",
		"inputSchema": json.RawMessage(argsSchema),
		"annotations": map[string]bool{hint: true},
	})
}

// tool returns a tool with a schema of arguments, which need not be one.
func tool(name, description, schema string) json.RawMessage {
	return encode(map[string]any{
		"name":        name,
		"description": description,
		"inputSchema": json.RawMessage(schema),
	})
}

// manyTools returns n tools.
func manyTools(n int) (tools []json.RawMessage) {
	for i := range n {
		tools = append(tools, tool(fmt.Sprintf("tool_%d", i), fmt.Sprintf("Answer as tool number %d", i), argsSchema))
	}
	return tools
}

// refusedTools are tools that somebody refuses. What an SDK or a client does with one must not take the
// others away.
var refusedTools = []json.RawMessage{
	tool("schema_of_text", "claude and SDKs refuse a schema that is not an object's", `{"type": "string"}`),
	tool("schema_without_type", "claude and SDKs refuse a schema without a type", `{"properties": {}}`),
	tool("schema_null", "SDKs refuse a schema that is missing", `null`),
	tool("schema_list", "SDKs refuse a schema that is not an object", `["object"]`),
	tool("schema_of_two_types", "claude refuses a schema with two types", `{"type": ["object", "null"]}`),
	tool("schema_without_meaning", "no validator compiles a type that does not exist", `{"type": "object", "properties": {"a": {"type": "colour"}}}`),
	tool("schema_from_elsewhere", "nobody must fetch a schema", `{"type": "object", "$ref": "http://127.0.0.1:9/schema.json"}`),
	tool("schema_pattern", "an expression with a look-ahead", `{"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?!x)"}}}`),
	tool("header_twice", "SDKs refuse a header that is named twice", `{"type": "object", "properties": {
		"a": {"type": "string", "x-mcp-header": "Same"}, "b": {"type": "string", "x-mcp-header": "Same"}}}`),
	tool("header_of_list", "SDKs refuse a header whose value is a list", `{"type": "object", "properties": {"a": {"type": "array", "x-mcp-header": "A"}}}`),
	tool("header_with_space", "HTTP refuses the name of this header", `{"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A b"}}}`),
	tool("", "a tool needs a name", argsSchema),
	tool("name with spaces", "claude refuses such a name", argsSchema),
	tool("näme", "claude refuses such a name", argsSchema),
	tool("dotted.name", "claude shows it as dotted_name", argsSchema),
	tool("dotted_name", "which this one is already", argsSchema),
	tool("twice", "the first of two", argsSchema),
	tool("twice", "the second of two", argsSchema),
	tool("a_name_of_more_than_128_characters_which_is_what_the_protocol_and_claude_both_allow_at_most_so_that_nobody_can_call_it_by_its_whole_name", "", argsSchema),
	tool("controls", "a description with a bell \a, a line\nbreak, \x1b[31mred\x1b[0m and \u202eturned\u202c words", argsSchema),
	encode(map[string]any{"name": "no_schema", "description": "has no schema at all"}),
}

// malformedTool is a tool that is not of the protocol's form.
var malformedTool = encode(map[string]any{
	"name":        "annotated_by_text",
	"inputSchema": json.RawMessage(argsSchema),
	"annotations": map[string]string{"readOnlyHint": "yes"},
})
