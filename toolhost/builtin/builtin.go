// Package builtin has the tools that the program of the tool host brings along. They compute:
// they know no file, no network and no state, and the same package serves any number of calls
// at once.
//
// A failed assertion or validation is a result. An error means that the arguments are wrong, and
// names the argument.
package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"bareclaw/core/tools"
	"bareclaw/internal/plainjson"
)

// Tools returns the built-in tools, sorted by name.
func Tools() []tools.Tool {
	all := slices.Concat(
		assertTools(),
		dataTools(),
		testTools(),
		reportTools(),
		performanceTools(),
		textTools(),
		transformTools(),
		utilityTools(),
	)
	slices.SortFunc(all, func(a, b tools.Tool) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// define returns a tool whose schemas follow from the structs In and Out. In's fields with
// omitempty or omitzero are optional arguments, and have the values of defaults when they are
// absent. Beside the tags json and jsonschema, which is the description, a field may have the tags
//
//	enum:"a,b"  the strings that the argument may be
//	min:"0"     the smallest number
//	max:"9"     the largest number
//
// Arguments of type any have json.Number for numbers, which keeps all digits; fields of that type
// need a description, because clients refuse the schema true that is there without. Out must have
// no nil slice. The tool is read-only and idempotent.
func define[In, Out any](name, description string, defaults In, handle func(ctx context.Context, in In) (Out, error)) tools.Tool {
	absent, err := json.Marshal(defaults)
	if err != nil {
		panic(fmt.Sprintf("the defaults of %s: %v", name, err)) // a fault of this package
	}
	return tools.Tool{
		Name:        name,
		Description: description,
		Input:       inputSchema(defaults),
		Output:      outputSchema[Out](),
		Annotations: tools.Annotations{ReadOnly: true, Idempotent: true},
		Handle: func(ctx context.Context, c tools.Call) (tools.Result, error) {
			var in In
			for _, args := range [][]byte{absent, c.Args} {
				if err := decode(args, &in); err != nil {
					return tools.Result{}, fmt.Errorf("the arguments of %s: %w", name, explain(err))
				}
			}
			out, err := handle(ctx, in)
			if err != nil {
				return tools.Result{}, err
			}
			b, err := plainjson.Marshal(out)
			if err != nil {
				return tools.Result{}, fmt.Errorf("encode the result of %s: %w", name, err)
			}
			return tools.Result{Structured: b}, nil
		},
	}
}

// random marks tools that return something else each time.
func random(t tools.Tool) tools.Tool {
	t.Annotations.Idempotent = false
	return t
}

// decode decodes JSON and keeps all digits of numbers.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

// explain says in words of JSON which argument fits its schema but not its type in Go: an integer
// of more than 64 bits, or one that is written as 5.0.
func explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: %s cannot be used; write an integer of at most 18 digits, without fraction and exponent", wrong.Field, wrong.Value)
	}
	return err
}

// inputSchema returns the schema of the arguments. Unknown arguments are refused, because they
// are misspelt ones; unknown members of what an argument contains are ignored.
func inputSchema[In any](defaults In) json.RawMessage {
	s := schemaOf[In]()
	v := reflect.ValueOf(defaults)
	refine(s, v.Type())
	for _, f := range reflect.VisibleFields(v.Type()) {
		p := s.Properties[jsonName(f)]
		if p == nil || slices.Contains(s.Required, jsonName(f)) {
			continue
		}
		switch value := v.FieldByIndex(f.Index); {
		case value.Kind() == reflect.Bool, value.CanInt(), value.CanFloat(), !value.IsZero():
			p.Default = must(plainjson.Marshal(value.Interface()))
		}
	}
	s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	return must(json.Marshal(s))
}

func outputSchema[Out any]() json.RawMessage {
	s := schemaOf[Out]()
	refine(s, reflect.TypeFor[Out]())
	return must(json.Marshal(s))
}

func schemaOf[T any]() *jsonschema.Schema {
	return must(jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[json.Number]():     {Type: "number"},
	}}))
}

// refine adds to the schema of a type what the tags of define say. It takes away null, which
// no argument needs, and the ban on unknown members.
func refine(s *jsonschema.Schema, t reflect.Type) {
	if len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1], nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		refine(s, t.Elem())
	case reflect.Slice, reflect.Array:
		s.Items = refined(s.Items, t.Elem())
	case reflect.Map:
		s.AdditionalProperties = refined(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		s.AdditionalProperties = nil
		for _, f := range reflect.VisibleFields(t) {
			if p := s.Properties[jsonName(f)]; p != nil && !f.Anonymous {
				refine(p, f.Type)
				applyTags(p, f.Tag)
			}
		}
	}
}

// refined returns the schema of what a slice or map contains, or nil if that is anything.
func refined(s *jsonschema.Schema, t reflect.Type) *jsonschema.Schema {
	if s == nil || t.Kind() == reflect.Interface {
		return nil
	}
	refine(s, t)
	return s
}

func applyTags(s *jsonschema.Schema, tag reflect.StructTag) {
	if words, ok := tag.Lookup("enum"); ok {
		for word := range strings.SplitSeq(words, ",") {
			s.Enum = append(s.Enum, word)
		}
	}
	for name, bound := range map[string]**float64{"min": &s.Minimum, "max": &s.Maximum} {
		if text, ok := tag.Lookup(name); ok {
			*bound = new(must(strconv.ParseFloat(text, 64)))
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// must is for what only a fault of this package makes fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
