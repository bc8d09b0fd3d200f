package schema

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bareclaw/toolhost/builtin/value"
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

func (g *generator) object(depth int, all joint) (any, error) {
	properties := map[string][]*node{}
	wanted := map[string]bool{}
	for _, n := range all {
		named, _ := n.keywords["properties"].(map[string]any)
		for name := range named {
			s := n.member("properties", name)
			properties[name] = append(properties[name], s)
			if depth < smallDepth && rand.N(4) > 0 && (s.always == nil || *s.always) {
				wanted[name] = true
			}
		}
		want(wanted, n.keywords["required"])
	}
	for _, n := range all {
		for _, keyword := range []string{"dependentRequired", "dependencies"} {
			dependencies, _ := n.keywords[keyword].(map[string]any)
			for name, list := range dependencies {
				if wanted[name] {
					want(wanted, list)
				}
			}
		}
	}
	least, most, err := all.size("Properties")
	if err != nil {
		return nil, err
	}
	g.fill(wanted, least, most, all)
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		schemas := properties[name]
		if schemas == nil {
			schemas = g.others(all, name)
		}
		if out[name], err = g.generate(depth+1, schemas...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func want(wanted map[string]bool, list any) {
	names, _ := list.([]any)
	for _, name := range names {
		if name, ok := name.(string); ok {
			wanted[name] = true
		}
	}
}

// fill adds properties that no schema names, or takes some away, so that there are as many as the
// schemas want.
func (g *generator) fill(wanted map[string]bool, least, most int, all joint) {
	required := map[string]bool{}
	for _, n := range all {
		want(required, n.keywords["required"])
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if len(wanted) > most && !required[name] {
			delete(wanted, name)
		}
	}
	var patterns []string
	for _, n := range all {
		named, _ := n.keywords["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if len(wanted) < least {
				wanted[name] = true
			}
		}
		byPattern, _ := n.keywords["patternProperties"].(map[string]any)
		patterns = slices.AppendSeq(patterns, maps.Keys(byPattern))
	}
	for i := 0; len(wanted) < least && i < 2*mostItems; i++ {
		name := g.text("") + strconv.Itoa(i)
		if pattern, ok := pick(patterns); ok {
			if text, err := textFor(pattern); err == nil {
				name = text
			}
		}
		wanted[name] = true
	}
}

// others returns the schemas of a property that none names.
func (g *generator) others(all joint, name string) (schemas []*node) {
	for _, n := range all {
		byPattern, _ := n.keywords["patternProperties"].(map[string]any)
		for pattern := range byPattern {
			if ok, err := g.patterns.match(g.ctx, pattern, name); ok && err == nil {
				schemas = append(schemas, n.member("patternProperties", pattern))
			}
		}
		if s := n.child("additionalProperties"); s != nil && len(schemas) == 0 {
			schemas = append(schemas, s)
		}
	}
	return schemas
}

func (g *generator) array(depth int, all joint) (any, error) {
	usual := 3
	if depth >= smallDepth {
		usual = 0
	}
	least, most, err := all.size("Items")
	if err != nil {
		return nil, err
	}
	contained := 0
	for _, n := range all {
		if n.child("contains") != nil {
			contained = max(contained, n.count("minContains", 1))
		}
	}
	count := least + rand.N(min(most-least, usual)+1)
	if contained > count {
		count = contained
	}
	unique, _ := all.keyword("uniqueItems").(bool)
	out, seen := []any{}, map[string]bool{}
	for i := range count {
		item, err := g.item(depth, all, i, i >= count-contained, func(v any) bool { return unique && seen[value.Key(v)] })
		if err != nil {
			return nil, err
		}
		out = append(out, item)
		seen[value.Key(item)] = true
	}
	return out, nil
}

// item makes the item i of an array, if possible none that is refused.
func (g *generator) item(depth int, all joint, i int, contained bool, refused func(any) bool) (item any, err error) {
	const attempts = 100
	var schemas []*node
	for _, n := range all {
		tuple, rest := "prefixItems", n.child("items")
		if _, ok := n.keywords["items"].([]any); ok {
			tuple, rest = "items", n.child("additionalItems")
		}
		if s := n.item(tuple, i); s != nil {
			rest = s
		}
		if rest != nil {
			schemas = append(schemas, rest)
		}
		if s := n.child("contains"); s != nil && contained {
			schemas = append(schemas, s)
		}
	}
	for range attempts {
		if item, err = g.generate(depth+1, schemas...); err != nil || !refused(item) {
			break
		}
	}
	return item, err
}

func (g *generator) string(all joint) (any, error) {
	least, most, err := all.size("Length")
	if err != nil {
		return nil, err
	}
	fits := func(text string) bool {
		n := utf8.RuneCountInString(text)
		return n >= least && n <= most
	}
	if pattern, ok := all.keyword("pattern").(string); ok {
		const attempts = 100
		for range attempts {
			text, err := textFor(pattern)
			if err != nil {
				return nil, err
			}
			if fits(text) {
				return text, nil
			}
		}
		return nil, all[0].fault("pattern", "no text of the right length was found for %s", pattern)
	}
	format, _ := all.keyword("format").(string)
	text := g.text(format)
	if format != "" && fits(text) {
		return text, nil
	}
	for utf8.RuneCountInString(text) < least {
		text += " " + g.text("")
	}
	if runes := []rune(text); len(runes) > most {
		text = strings.TrimSpace(string(runes[:most]))
		text += strings.Repeat("x", max(0, least-utf8.RuneCountInString(text)))
	}
	return text, nil
}
