package schema

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"bareclaw/internal/schema/value"
)

// Generate returns a random value that fits the schema. Text returns the texts of a format, and
// plain words for formats that it does not know. Generate returns an error if no value is found,
// which does not prove that there is none.
func (s *Schema) Generate(ctx context.Context, text func(format string) string) (any, error) {
	const attempts = 50
	g := &generator{Schema: s, ctx: ctx, text: text}
	var reason error
	for range attempts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		v, err := g.generate(0, s.root)
		if err != nil {
			reason = err
			continue
		}
		faults, err := s.Check(ctx, v)
		if err != nil {
			return nil, err
		}
		if len(faults) == 0 {
			return v, nil
		}
		reason = fmt.Errorf("the last attempt %s", faults[0])
	}
	return nil, fmt.Errorf("no value that fits the schema was found: %w", reason)
}

type generator struct {
	*Schema
	ctx   context.Context
	text  func(format string) string
	parts int // that were made
}

const (
	smallDepth = 4  // from which only what is required is made
	mostDepth  = 64 // of a value
	mostItems  = 10_000
	mostParts  = 100_000 // values within all attempts
)

// generate makes a value for several schemas, which mostly fits all of them.
func (g *generator) generate(depth int, of ...*node) (any, error) {
	if depth > mostDepth {
		return nil, fmt.Errorf("the value would be deeper than %d", mostDepth)
	}
	if g.parts++; g.parts > mostParts {
		return nil, fmt.Errorf("the value needs more than %d parts", mostParts)
	}
	all, err := g.collect(nil, nil, of...)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if v, ok := n.keywords["const"]; ok {
			return v, nil
		}
	}
	if v, ok := pick(chosen(all)); ok {
		return v, nil
	}
	kind, err := all.kind()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "object":
		return g.object(depth, all)
	case "array":
		return g.array(depth, all)
	case "string":
		return g.string(all)
	case "number", "integer":
		return all.number(kind == "integer")
	case "boolean":
		return rand.N(2) == 0, nil
	}
	return nil, nil //nolint:nilnil // null is a value
}

// A joint is a list of schemas that all apply to one value.
type joint []*node

// collect adds the schemas and those that apply with them. Of alternatives, collect takes one.
func (g *generator) collect(all joint, path []*node, of ...*node) (_ joint, err error) {
	for _, n := range of {
		switch {
		case slices.Contains(path, n):
			return nil, n.fault("", "the schema refers to itself without end")
		case n.always != nil && !*n.always:
			return nil, n.fault("", "nothing fits the schema false")
		}
		all = append(all, n)
		with := g.branches(n)
		if n.ref != nil {
			with = append(with, n.ref)
		}
		if n.dynamic != nil {
			with = append(with, n.dynamic.target)
		}
		if all, err = g.collect(all, append(slices.Clip(path), n), with...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// branches returns the schemas of allOf, and a choice from those of anyOf, oneOf and if.
func (g *generator) branches(n *node) (with []*node) {
	for i := range length(n, "allOf") {
		with = append(with, n.item("allOf", i))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if count := length(n, keyword); count > 0 {
			with = append(with, n.item(keyword, rand.N(count)))
		}
	}
	if condition := n.child("if"); condition != nil {
		choice := []*node{n.child("else")}
		if rand.N(2) == 0 {
			choice = []*node{condition, n.child("then")}
		}
		with = append(with, choice...)
	}
	return slices.DeleteFunc(with, func(n *node) bool { return n == nil })
}

// chosen returns the values that all enums have, or nil if there is no enum.
func chosen(all joint) (values []any) {
	for _, n := range all {
		enum, ok := n.keywords["enum"].([]any)
		switch {
		case !ok:
		case values == nil:
			values = slices.Clone(enum)
		default:
			values = slices.DeleteFunc(values, func(v any) bool {
				return !slices.ContainsFunc(enum, func(e any) bool { return value.Equal(e, v) })
			})
		}
	}
	return values
}

func pick[T any](from []T) (v T, ok bool) {
	if len(from) == 0 {
		return v, false
	}
	return from[rand.N(len(from))], true
}

// kind returns a type that all schemas allow.
func (all joint) kind() (string, error) {
	kinds := typeNames()
	named := false
	for _, n := range all {
		var names []any
		switch t := n.keywords["type"].(type) {
		case string:
			names = []any{t}
		case []any:
			names = t
		default:
			continue
		}
		named = true
		kinds = slices.DeleteFunc(kinds, func(kind string) bool {
			return !slices.Contains(names, any(kind)) && (kind != "integer" || !slices.Contains(names, "number"))
		})
	}
	if !named {
		return all.likelyKind(), nil
	}
	kind, ok := pick(kinds)
	if !ok {
		return "", all[0].fault("type", "no type is allowed by all schemas")
	}
	return kind, nil
}

// likelyKind returns the type for which the schemas have keywords.
func (all joint) likelyKind() string {
	for _, kind := range []struct{ name, keywords string }{
		{"object", "properties required additionalProperties patternProperties minProperties maxProperties propertyNames dependentRequired"},
		{"array", "items prefixItems contains minItems maxItems uniqueItems"},
		{"number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"},
	} {
		for keyword := range strings.FieldsSeq(kind.keywords) {
			if all.keyword(keyword) != nil {
				return kind.name
			}
		}
	}
	return "string"
}

// keyword returns the value of a keyword in the first schema that has it.
func (all joint) keyword(name string) any {
	for _, n := range all {
		if v, ok := n.keywords[name]; ok {
			return v
		}
	}
	return nil
}

// size returns the bounds of a size, of which the upper one may be far away.
func (all joint) size(what string) (least, most int, err error) {
	const far = math.MaxInt32
	most = far
	for _, n := range all {
		least = max(least, n.count("min"+what, 0))
		most = min(most, n.count("max"+what, far))
	}
	if least > most || least > mostItems {
		return 0, 0, all[0].fault("min"+what, "cannot be reached")
	}
	return least, most, nil
}
