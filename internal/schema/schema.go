// Package schema checks JSON values against JSON Schemas of the drafts 4, 6, 7, 2019-09 and
// 2020-12. A schema without $schema may use the keywords of all drafts. Values and schemas are
// those of package value.
//
// References lead to parts of the same schema: nothing is loaded. The formats date-time, date,
// time, email, ipv4, ipv6, uri and uuid are checked in all drafts, other formats never.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/internal/schema/value"
)

// A Schema is ready to check values. All methods are safe for concurrent use.
type Schema struct {
	raw     any
	root    *node
	nodes   map[string]*node // by JSON pointer
	targets map[string]*node // by absolute URI, with the fragment of an anchor
	tracks  bool             // whether a keyword asks which members others have evaluated

	patternTimeout time.Duration
}

// A node is one schema within the document.
type node struct {
	pointer  string
	always   *bool          // what the schema true or false says of all values
	keywords map[string]any // those which the draft knows
	children map[child]*node
	draft    draft
	depth    int
	base     string // absolute URI of the resource
	resource *node  // the outermost schema with this base

	ref       *node            // of $ref
	dynamic   *dynamicRef      // of $dynamicRef or $recursiveRef
	anchors   map[string]*node // the resource's dynamic anchors
	recursive bool             // $recursiveAnchor
}

// A child is the place of a schema in a keyword, which is a name or a number in those that have
// several schemas.
type child struct{ keyword, name string }

// A dynamicRef leads to the outermost schema in use that has the anchor; without an anchor, to the
// outermost with $recursiveAnchor.
type dynamicRef struct {
	target *node // where it leads at first
	anchor string
}

// maxDepth bounds the nesting of schemas. The pointers of all take memory by the square of it.
const maxDepth = 500

type draft int

const (
	draft4    draft = 4
	draft6    draft = 6
	draft7    draft = 7
	draft2019 draft = 2019
	draft2020 draft = 2020
	anyDraft  draft = 9999 // keywords of all drafts
)

// drafts are the drafts by the paths of their $schema.
var drafts = map[string]draft{
	"draft-04/schema":      draft4,
	"draft-06/schema":      draft6,
	"draft-07/schema":      draft7,
	"draft/2019-09/schema": draft2019,
	"draft/2020-12/schema": draft2020,
	"schema":               draft2020,
}

// draftOf returns the draft that $schema names.
func draftOf(uri string) (draft, error) {
	_, path, _ := strings.Cut(strings.TrimSuffix(uri, "#"), "://json-schema.org/")
	if d, ok := drafts[path]; ok {
		return d, nil
	}
	return 0, fmt.Errorf("$schema %q is none of the drafts 4, 6, 7, 2019-09 and 2020-12", uri)
}

// knows reports whether the keyword means something in the draft.
func (d draft) knows(keyword string) bool {
	switch keyword {
	case "const", "contains", "propertyNames":
		return d >= draft6
	case "if", "then", "else":
		return d >= draft7
	case "$anchor", "dependentRequired", "dependentSchemas", "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties":
		return d >= draft2019
	case "$recursiveRef", "$recursiveAnchor":
		return d == draft2019
	case "prefixItems", "$dynamicRef", "$dynamicAnchor":
		return d >= draft2020
	case "additionalItems":
		return d != draft2020
	case "dependencies":
		return d <= draft7 || d == anyDraft
	case "id":
		return d == draft4
	case "$id":
		return d != draft4
	}
	return true
}

// Compile returns the schema that v describes, or an error that names the place in v which is
// wrong.
func Compile(v any) (*Schema, error) {
	s := &Schema{raw: v, nodes: map[string]*node{}, targets: map[string]*node{}, patternTimeout: patternTimeout}
	if err := s.compile(); err != nil {
		return nil, err
	}
	return s, nil
}

// CompileJSON is Compile for the text of a schema.
func CompileJSON(text []byte) (*Schema, error) {
	v, err := Decode(text)
	if err != nil {
		return nil, err
	}
	return Compile(v)
}

// Decode decodes JSON as the values that schemas check: with all digits of numbers.
func Decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func (s *Schema) compile() (err error) {
	if s.root, err = s.add(s.raw, "", nil); err != nil {
		return err
	}
	// References may lead to parts that are no schemas otherwise, which then have references too.
	for done := map[*node]bool{}; len(done) < len(s.nodes); {
		for _, pointer := range slices.Sorted(maps.Keys(s.nodes)) {
			if n := s.nodes[pointer]; !done[n] {
				done[n] = true
				if err := s.link(n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// add makes nodes of a schema and all schemas in it.
func (s *Schema) add(raw any, pointer string, parent *node) (*node, error) {
	n := &node{pointer: pointer, draft: anyDraft}
	if parent != nil {
		n.draft, n.base, n.resource, n.depth = parent.draft, parent.base, parent.resource, parent.depth+1
	} else {
		n.resource = n
	}
	if n.depth > maxDepth {
		return nil, fmt.Errorf("schema: schemas are nested more than %d deep", maxDepth)
	}
	s.nodes[pointer] = n
	if b, ok := raw.(bool); ok {
		n.always = &b
		return n, nil
	}
	keywords, ok := raw.(map[string]any)
	if !ok {
		return nil, n.fault("", "a schema must be an object, true or false, not %s", value.Type(raw))
	}
	if uri, ok := keywords["$schema"].(string); ok {
		d, err := draftOf(uri)
		if err != nil {
			return nil, n.fault("", "%v", err)
		}
		n.draft = d
	}
	n.keywords = maps.Clone(keywords)
	maps.DeleteFunc(n.keywords, func(keyword string, _ any) bool { return !n.draft.knows(keyword) })
	if _, ok := keywords["$ref"].(string); ok && n.draft <= draft7 {
		n.keywords = map[string]any{"$ref": keywords["$ref"]} // beside which all else is ignored
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	if err := s.identify(n); err != nil {
		return nil, err
	}
	return n, s.addChildren(n, keywords)
}

// identify registers the names under which references find the node.
func (s *Schema) identify(n *node) error {
	id, _ := n.keywords["$id"].(string)
	if n.draft == draft4 {
		id, _ = n.keywords["id"].(string)
	}
	plain, anchor, _ := strings.Cut(id, "#")
	if plain != "" {
		base, err := resolve(n.base, plain)
		if err != nil {
			return n.fault("$id", "%v", err)
		}
		n.base, n.resource = base, n
	}
	if n.resource == n {
		s.targets[n.base] = n
	}
	if anchor != "" {
		s.targets[n.base+"#"+anchor] = n
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		name, ok := n.keywords[keyword].(string)
		if !ok {
			continue
		}
		s.targets[n.base+"#"+name] = n
		if keyword == "$dynamicAnchor" {
			if n.resource.anchors == nil {
				n.resource.anchors = map[string]*node{}
			}
			n.resource.anchors[name] = n
		}
	}
	if recursive, _ := n.keywords["$recursiveAnchor"].(bool); recursive {
		n.recursive = true
	}
	return nil
}

// addChildren adds the schemas in the keywords, of which some may be ignored beside $ref: other
// references may lead to them.
func (s *Schema) addChildren(n *node, keywords map[string]any) error {
	n.children = map[child]*node{}
	for _, keyword := range slices.Sorted(maps.Keys(keywords)) {
		if !n.draft.knows(keyword) {
			continue
		}
		form := forms[keyword]
		switch v := keywords[keyword].(type) {
		case []any:
			for i, raw := range v {
				if form&schemaList != 0 {
					if err := s.addChild(n, child{keyword, strconv.Itoa(i)}, raw); err != nil {
						return err
					}
				}
			}
		case map[string]any:
			if form&oneSchema != 0 {
				if err := s.addChild(n, child{keyword: keyword}, v); err != nil {
					return err
				}
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				_, isList := v[name].([]any)
				if form&schemaMap != 0 && (!isList || keyword != "dependencies") {
					if err := s.addChild(n, child{keyword, name}, v[name]); err != nil {
						return err
					}
				}
			}
		case bool:
			if form&oneSchema != 0 {
				if err := s.addChild(n, child{keyword: keyword}, v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Schema) addChild(n *node, at child, raw any) error {
	pointer := n.pointer + "/" + at.keyword
	if at.name != "" || forms[at.keyword]&oneSchema == 0 {
		pointer += value.Pointer(at.name)
	}
	added, err := s.add(raw, pointer, n)
	if _, ok := n.keywords[at.keyword]; ok {
		n.children[at] = added
	}
	return err
}

// link resolves the references and compiles the patterns of a node.
func (s *Schema) link(n *node) (err error) {
	if ref, ok := n.keywords["$ref"].(string); ok {
		if n.ref, err = s.find(n, "$ref", ref); err != nil {
			return err
		}
	}
	if ref, ok := n.keywords["$dynamicRef"].(string); ok {
		target, err := s.find(n, "$dynamicRef", ref)
		if err != nil {
			return err
		}
		_, anchor, _ := strings.Cut(ref, "#")
		n.dynamic = &dynamicRef{target: target}
		if target.keywords["$dynamicAnchor"] == anchor {
			n.dynamic.anchor = anchor
		}
	}
	if ref, ok := n.keywords["$recursiveRef"].(string); ok {
		target, err := s.find(n, "$recursiveRef", ref)
		if err != nil {
			return err
		}
		n.dynamic = &dynamicRef{target: target}
	}
	for _, keyword := range []string{"unevaluatedItems", "unevaluatedProperties"} {
		if _, ok := n.keywords[keyword]; ok {
			s.tracks = true
		}
	}
	return s.compilePatterns(n)
}

func (s *Schema) compilePatterns(n *node) error {
	if pattern, ok := n.keywords["pattern"].(string); ok {
		if err := checkPattern(pattern); err != nil {
			return n.fault("pattern", "%v", err)
		}
	}
	properties, _ := n.keywords["patternProperties"].(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(properties)) {
		if err := checkPattern(pattern); err != nil {
			return n.fault("patternProperties", "%v", err)
		}
	}
	return nil
}

// find returns the schema to which a reference leads.
func (s *Schema) find(n *node, keyword, ref string) (*node, error) {
	uri, err := resolve(n.base, ref)
	if err != nil {
		return nil, n.fault(keyword, "%v", err)
	}
	uri, fragment, _ := strings.Cut(uri, "#")
	if fragment, err = url.PathUnescape(fragment); err != nil {
		return nil, n.fault(keyword, "%v", err)
	}
	if fragment != "" && fragment[0] != '/' {
		if target := s.targets[uri+"#"+fragment]; target != nil {
			return target, nil
		}
	} else if resource := s.targets[uri]; resource != nil {
		if target, err := s.at(resource, fragment); target != nil || err != nil {
			return target, err
		}
	}
	return nil, n.fault(keyword, "%q leads nowhere; a reference must lead to a part of the same schema", ref)
}

// at returns the schema at a JSON pointer within a resource, or nil. A place that no keyword makes
// a schema becomes one.
func (s *Schema) at(resource *node, pointer string) (*node, error) {
	raw, parent := s.raw, resource
	whole := resource.pointer + pointer
	for at := ""; at != whole; {
		token, _, _ := strings.Cut(whole[len(at)+1:], "/")
		at += "/" + token
		switch v := raw.(type) {
		case map[string]any:
			child, ok := v[unescape(token)]
			if !ok {
				return nil, nil
			}
			raw = child
		case []any:
			i, ok := index(token, len(v))
			if !ok {
				return nil, nil
			}
			raw = v[i]
		default:
			return nil, nil
		}
		if n := s.nodes[at]; n != nil && len(at) >= len(resource.pointer) {
			parent = n
		}
	}
	if n := s.nodes[whole]; n != nil {
		return n, nil
	}
	return s.add(raw, whole, parent)
}

// index returns the number in a JSON pointer that leads to an item of an array.
func index(token string, length int) (int, bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && i >= 0 && i < length
}

// child returns the schema in a keyword, or nil.
func (n *node) child(keyword string) *node { return n.children[child{keyword: keyword}] }

// member returns the schema with a name in a keyword, or nil.
func (n *node) member(keyword, name string) *node { return n.children[child{keyword, name}] }

// item returns the schema with a number in a keyword, or nil.
func (n *node) item(keyword string, i int) *node { return n.member(keyword, strconv.Itoa(i)) }

func (n *node) fault(keyword, format string, args ...any) error {
	at := n.pointer
	if keyword != "" {
		at += "/" + keyword
	}
	if at != "" {
		at = " at " + at
	}
	return fmt.Errorf("schema%s: %s", at, fmt.Sprintf(format, args...))
}

func resolve(base, ref string) (string, error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	u, err := b.Parse(ref)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
