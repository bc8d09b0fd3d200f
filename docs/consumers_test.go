package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// consumers are the types as which our own programs read what the API answers: by file and
// name, and the schema of what they read.
var consumers = map[string]map[string]string{
	"../adapters/httpapi/client/shapes.go": {
		"Health": "Health", "Channel": "ChannelStatus", "Notice": "Notice", "Message": "Message",
		"Approval": "Approval", "Rule": "Rule", "Trace": "Trace",
	},
	"../internal/cli/chat/decode.go": {
		"message": "Message", "approval": "Approval", "started": "Started", "queued": "Queued", "notice": "Notice", "background": "Background",
	},
	"../internal/cli/scheduleview.go": {"scheduleView": "Schedule", "occurrenceView": "Occurrence"},
	"../internal/cli/restart.go":      {"served": "Health"},
	"../internal/cli/upgrade.go":      {"upgraded": "Upgrade"},
	"../internal/cli/setup/run.go":    {"health": "Health"},
	"../heartbeat/gateway.go":         {"message": "Message", "health": "Health"},
}

// TestConsumersReadWhatIsDocumented holds each field of those types against the document:
// the API has a member of that name, and the field takes values of its type. That the API
// answers as documented is tested with a running daemon.
func TestConsumersReadWhatIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	for file, types := range consumers {
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]*ast.StructType{}
		ast.Inspect(source, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					found[spec.Name.Name] = s
				}
			}
			return true
		})
		for name, schema := range types {
			switch {
			case found[name] == nil:
				t.Errorf("%s has no struct %s", file, name)
			case doc.Components.Schemas[schema] == nil:
				t.Errorf("the document has no schema %s", schema)
			default:
				for _, wrong := range misread(found[name], doc.Components.Schemas[schema].Value) {
					t.Errorf("%s: %s of %s: %s", file, name, schema, wrong)
				}
			}
		}
	}
}

// TestMisreadIsNoticed: a check that finds nothing must be able to find something.
func TestMisreadIsNoticed(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"struct { Next []time.Time `json:\"next\"` }":      "",
		"struct { Next time.Time `json:\"next\"` }":        "next: a time.Time does not take an array",
		"struct { When, Text string }":                     "",
		"struct { Due string `json:\"due\"` }":             "due: there is no such member",
		"struct { Budget int `json:\"budget_usd\"` }":      "budget_usd: an int does not take a number",
		"struct { Budget *float64 `json:\"budget_usd\"` }": "",
		"struct { Next []int `json:\"next\"` }":            "next: an int does not take a string",
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(misread(expr.(*ast.StructType), doc.Components.Schemas["Schedule"].Value), "; ")
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// misread says which fields of a struct cannot be read from what a schema describes.
func misread(s *ast.StructType, schema *openapi3.Schema) (wrong []string) {
	members := membersOf(schema)
	for _, f := range s.Fields.List {
		names := []string{}
		if f.Tag != nil {
			name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
			names = append(names, name)
		} else {
			for _, name := range f.Names {
				names = append(names, strings.ToLower(name.Name)) // as encoding/json matches them
			}
		}
		for _, name := range names {
			switch {
			case name == "-":
			case members[name] == nil:
				wrong = append(wrong, name+": there is no such member")
			default:
				for _, why := range mistyped(f.Type, members[name]) {
					wrong = append(wrong, name+": "+why)
				}
			}
		}
	}
	return wrong
}

// membersOf returns the members of an object, also those of the schemas that it is made of.
func membersOf(schema *openapi3.Schema) map[string]*openapi3.Schema {
	members := map[string]*openapi3.Schema{}
	for _, part := range schema.AllOf {
		for name, member := range membersOf(part.Value) {
			members[name] = member
		}
	}
	for name, member := range schema.Properties {
		members[name] = member.Value
	}
	return members
}

// mistyped says why a Go type cannot hold what a schema describes.
func mistyped(e ast.Expr, schema *openapi3.Schema) []string {
	for len(schema.AllOf) == 1 && schema.Type == nil {
		schema = schema.AllOf[0].Value
	}
	is := func(kinds ...string) []string {
		for _, kind := range kinds {
			if schema.Type.Is(kind) {
				return nil
			}
		}
		kind := "value of any type"
		if schema.Type != nil {
			kind = strings.Join(schema.Type.Slice(), " or ")
		}
		return []string{fmt.Sprintf("%s does not take %s", article(typeText(e)), article(kind))}
	}
	switch e := e.(type) {
	case *ast.StarExpr:
		return mistyped(e.X, schema)
	case *ast.ArrayType:
		if wrong := is("array"); wrong != nil {
			return wrong
		}
		return mistyped(e.Elt, schema.Items.Value)
	case *ast.StructType:
		if wrong := is("object"); wrong != nil {
			return wrong
		}
		return misread(e, schema)
	}
	switch name := typeText(e); name {
	case "json.RawMessage":
		return nil
	case "time.Time":
		if schema.Format == "date-time" {
			return nil
		}
		return is("date-time")
	case "string":
		return is("string")
	case "bool":
		return is("boolean")
	case "float64":
		return is("number", "integer")
	case "int", "int64", "uint64":
		return is("integer")
	default: // another struct, which is in the table by itself where it is read
		return is("object")
	}
}

func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	case *ast.StarExpr:
		return typeText(e.X)
	}
	return fmt.Sprintf("%T", e)
}

func article(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}
