package docs

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core/tools"
	toolhost "bareclaw/toolhost/api"
)

// shapes are the types of package api, and the schemas that describe them.
var shapes = map[string]any{
	"MessageRequest": api.MessageRequest{}, "SendRequest": api.SendRequest{}, "ApprovalRequest": api.Decision{}, "ScheduleRequest": api.ScheduleRequest{},
	"Prompt": api.Prompt{}, "Message": api.Message{}, "Accepted": api.Accepted{}, "Trace": api.Trace{}, "Delivery": api.Delivery{},
	"Queued": api.Queued{}, "Started": api.Started{}, "Notice": api.Notice{}, "Background": api.Background{}, "Ending": api.Ending{},
	"ToolChange":    api.ToolChange{},
	"ChannelStatus": api.Channel{}, "Rule": api.Rule{}, "Approval": api.Approval{}, "Schedule": api.Schedule{}, "Occurrence": api.Occurrence{},
	"Mount":   api.Mount{},
	"Upgrade": api.Upgrade{}, "Health": api.Health{}, "Error": api.Error{},
	"ToolHostHealth": toolhost.Health{}, "ToolHostTool": toolhost.Tool{}, "ToolHostCall": toolhost.CallRequest{}, "ToolHostResult": toolhost.CallResult{},
	"ToolHostReloaded": toolhost.Reloaded{}, "ToolHostDone": toolhost.Done{},
}

// TestShapesAreDocumented compares each struct of package api with its schema: both have the
// same members, of the same types, and a required member is never left out. That the gateway
// answers as documented is tested with a running server.
func TestShapesAreDocumented(t *testing.T) {
	t.Parallel()
	doc := openAPIDocument(t)
	for name, value := range shapes {
		schema := doc.Components.Schemas[name]
		if schema == nil {
			t.Errorf("the document has no schema %s", name)
			continue
		}
		for _, wrong := range differences(reflect.TypeOf(value), schema.Value, !strings.HasSuffix(name, "Request") && name != "ToolHostCall") {
			t.Errorf("%s.%s", name, wrong)
		}
	}
}

// TestDifferencesAreFound runs the comparison on a struct that does not fit.
func TestDifferencesAreFound(t *testing.T) {
	t.Parallel()
	got := differences(reflect.TypeFor[struct {
		Due    string    `json:"due"`
		Budget int       `json:"budget_usd,omitzero"`
		Text   string    `json:"text,omitzero"`
		Next   []int     `json:"next"`
		TZ     time.Time `json:"tz,omitzero"`
	}](), openAPIDocument(t).Components.Schemas["Schedule"].Value, true)
	for _, want := range []string{
		"due: not in the document", "budget_usd: int is not number", "text: may be left out, but is required", "next[]: int is not date-time", "tz: time.Time is not string",
		"channel: not in the struct",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q was not found in %q", want, got)
		}
	}
}

// differences returns how a struct differs from the schema of an object. Replies must have
// what the schema requires.
func differences(typ reflect.Type, schema *openapi3.Schema, reply bool) (wrong []string) {
	members, seen := membersOf(schema), map[string]bool{}
	for _, f := range reflect.VisibleFields(typ) {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" || name == "" && !tagged {
			continue
		}
		seen[name] = true
		member := members[name]
		if member == nil {
			wrong = append(wrong, name+": not in the document")
			continue
		}
		if reply && slices.Contains(schema.Required, name) && options != "" {
			wrong = append(wrong, name+": may be left out, but is required")
		}
		wrong = append(wrong, mismatches(name, f.Type, member, reply)...)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !seen[name] {
			wrong = append(wrong, name+": not in the struct")
		}
	}
	return wrong
}

// membersOf returns the members of an object, also those of the schemas it consists of.
func membersOf(schema *openapi3.Schema) map[string]*openapi3.Schema {
	members := map[string]*openapi3.Schema{}
	for _, part := range schema.AllOf {
		maps.Copy(members, membersOf(part.Value))
	}
	for name, member := range schema.Properties {
		members[name] = member.Value
	}
	return members
}

// mismatches returns why a Go type does not hold what a schema describes.
func mismatches(name string, typ reflect.Type, schema *openapi3.Schema, reply bool) []string {
	for len(schema.AllOf) == 1 && schema.Type == nil {
		schema = schema.AllOf[0].Value
	}
	kinds := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
		reflect.Float64: "number", reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object",
	}
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
		return nil
	case typ == reflect.TypeFor[time.Time]() && schema.Format == "date-time":
		return nil
	case typ == reflect.TypeFor[tools.Hint]() && schema.Type.Is("boolean"):
		return nil
	case typ.Kind() == reflect.Pointer:
		return mismatches(name, typ.Elem(), schema, reply)
	case typ == reflect.TypeFor[time.Time](), schema.Format == "date-time", !schema.Type.Is(kinds[typ.Kind()]):
		want := schema.Format
		if want != "date-time" {
			want = strings.Join(schema.Type.Slice(), " or ")
		}
		return []string{name + ": " + typ.String() + " is not " + want}
	case typ.Kind() == reflect.Slice:
		return mismatches(name+"[]", typ.Elem(), schema.Items.Value, reply)
	case typ.Kind() == reflect.Struct:
		var wrong []string
		for _, w := range differences(typ, schema, reply) {
			wrong = append(wrong, name+"."+w)
		}
		return wrong
	}
	return nil
}
