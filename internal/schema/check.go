package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bareclaw/internal/schema/value"
)

// A Fault is a place where a value does not fit a schema.
type Fault struct {
	Path    string `json:"path" jsonschema:"JSON pointer to the place in the value; empty for the whole"`
	Keyword string `json:"keyword" jsonschema:"the keyword of the schema that is violated"`
	Message string `json:"message"`
}

func (f Fault) String() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + " " + f.Message
}

// maxFaults is how many faults Check returns.
const maxFaults = 100

// Check returns where v does not fit the schema, at most 100 places, or no place if v fits. It
// returns an error if the schema refers to itself without end, and the cause of ctx.
func (s *Schema) Check(ctx context.Context, v any) (_ []Fault, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case abort:
			err = p.err
		default:
			panic(p)
		}
	}()
	r := &run{Schema: s, ctx: ctx}
	got := r.check(s.root, place{value: v, scope: []*node{s.root.resource}})
	return got.faults, nil
}

// A run is one check of a value.
type run struct {
	*Schema
	ctx   context.Context
	steps int
}

// An abort is a panic that ends a run.
type abort struct{ err error }

// A place is a part of the value on which schemas are applied.
type place struct {
	value  any
	path   *value.Path
	scope  []*node // the resources in use, from the outermost
	active *active // the schemas in use at this part
}

type active struct {
	node *node
	next *active
}

// An outcome says what does not fit, and of an array or object that fits, which members were
// looked at: for unevaluatedItems and unevaluatedProperties.
type outcome struct {
	faults     []Fault
	properties map[string]bool
	items      map[int]bool
}

func (o *outcome) fits() bool { return len(o.faults) == 0 }

func (o *outcome) fault(p place, keyword, format string, args ...any) {
	if len(o.faults) < maxFaults {
		o.faults = append(o.faults, Fault{p.path.String(), keyword, fmt.Sprintf(format, args...)})
	}
}

// merge adds the outcome of a schema that applies to the same place.
func (o *outcome) merge(other *outcome) {
	o.faults = append(o.faults, other.faults[:min(len(other.faults), maxFaults-len(o.faults))]...)
	o.see(other)
}

func (o *outcome) see(other *outcome) {
	for name := range other.properties {
		o.property(name)
	}
	for i := range other.items {
		o.item(i)
	}
}

func (o *outcome) property(name string) {
	if o.properties == nil {
		o.properties = map[string]bool{}
	}
	o.properties[name] = true
}

func (o *outcome) item(i int) {
	if o.items == nil {
		o.items = map[int]bool{}
	}
	o.items[i] = true
}

// check applies a schema to a place.
func (r *run) check(n *node, p place) *outcome {
	if r.steps++; r.steps%4096 == 0 && r.ctx.Err() != nil {
		panic(abort{context.Cause(r.ctx)})
	}
	for a := p.active; a != nil; a = a.next {
		if a.node == n {
			panic(abort{n.fault("", "the schema refers to itself without end")})
		}
	}
	p.active = &active{n, p.active}
	if n.resource != p.scope[len(p.scope)-1] {
		p.scope = append(slices.Clip(p.scope), n.resource)
	}
	o := &outcome{}
	switch {
	case n.always != nil && !*n.always:
		o.fault(p, "false", "is not allowed")
		return o
	case n.always != nil:
		return o
	}
	if n.ref != nil {
		o.merge(r.check(n.ref, p))
	}
	if n.dynamic != nil {
		o.merge(r.check(n.dynamic.resolve(p.scope), p))
	}
	r.checkValue(n, p, o)
	r.checkLogic(n, p, o)
	switch v := p.value.(type) {
	case json.Number:
		n.checkNumber(v, p, o)
	case string:
		r.checkString(n, v, p, o)
	case []any:
		r.checkArray(n, v, p, o)
	case map[string]any:
		r.checkObject(n, v, p, o)
	}
	if !o.fits() || !r.tracks {
		o.properties, o.items = nil, nil
	}
	return o
}

// member returns a place within an array or object.
func (p place) member(name string, v any) place {
	return place{value: v, path: p.path.Member(name), scope: p.scope}
}

func (d *dynamicRef) resolve(scope []*node) *node {
	switch {
	case d.anchor != "":
		for _, resource := range scope {
			if n := resource.anchors[d.anchor]; n != nil {
				return n
			}
		}
	case d.target.recursive:
		target := d.target
		for _, resource := range slices.Backward(scope) {
			if !resource.recursive {
				break
			}
			target = resource
		}
		return target
	}
	return d.target
}

func (r *run) checkValue(n *node, p place, o *outcome) {
	switch want := n.keywords["type"].(type) {
	case string:
		if !isType(p.value, want) {
			o.fault(p, "type", "must be %s, is %s", want, value.Type(p.value))
		}
	case []any:
		if !slices.ContainsFunc(want, func(w any) bool { return isType(p.value, w.(string)) }) {
			o.fault(p, "type", "must be one of %s, is %s", value.Brief(want), value.Type(p.value))
		}
	}
	if allowed, ok := n.keywords["enum"].([]any); ok && !slices.ContainsFunc(allowed, func(a any) bool { return value.Equal(a, p.value) }) {
		o.fault(p, "enum", "must be one of %s", value.Brief(allowed))
	}
	if want, ok := n.keywords["const"]; ok && !value.Equal(want, p.value) {
		o.fault(p, "const", "must be %s", value.Brief(want))
	}
}

func isType(v any, name string) bool {
	if name == "integer" {
		n, ok := v.(json.Number)
		return ok && value.IsInteger(n)
	}
	return value.Type(v) == name
}

func (r *run) checkLogic(n *node, p place, o *outcome) {
	for i := range length(n, "allOf") {
		o.merge(r.check(n.item("allOf", i), p))
	}
	r.checkAlternatives(n, p, o, "anyOf")
	r.checkAlternatives(n, p, o, "oneOf")
	if not := n.child("not"); not != nil && r.check(not, p).fits() {
		o.fault(p, "not", "must not fit the schema of not")
	}
	if condition := n.child("if"); condition != nil {
		branch := "then"
		if got := r.check(condition, p); got.fits() {
			o.see(got)
		} else {
			branch = "else"
		}
		if then := n.child(branch); then != nil {
			o.merge(r.check(then, p))
		}
	}
}

// checkAlternatives applies anyOf and oneOf.
func (r *run) checkAlternatives(n *node, p place, o *outcome, keyword string) {
	var fit []int
	var reasons []Fault
	all := length(n, keyword)
	for i := range all {
		got := r.check(n.item(keyword, i), p)
		if got.fits() {
			fit = append(fit, i)
			o.see(got)
		} else {
			reasons = append(reasons, got.faults[0])
		}
	}
	switch {
	case all == 0:
	case len(fit) == 0:
		o.fault(p, keyword, "fits none of the schemas: %s", summarize(reasons, p.path.String()))
	case keyword == "oneOf" && len(fit) > 1:
		o.fault(p, keyword, "fits the schemas %d and %d of oneOf, and must fit one", fit[0], fit[1])
	}
}

// summarize returns faults in one line, with the rest of their paths after the prefix.
func summarize(faults []Fault, prefix string) string {
	const most = 200
	var b strings.Builder
	for _, f := range faults {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		f.Path = strings.TrimPrefix(f.Path, prefix)
		b.WriteString(f.String())
		if b.Len() > 4*most {
			break
		}
	}
	return value.Shorten(b.String(), most)
}

func length(n *node, keyword string) int {
	list, _ := n.keywords[keyword].([]any)
	return len(list)
}
