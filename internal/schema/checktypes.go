package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"bareclaw/internal/schema/value"
)

func (n *node) checkNumber(v json.Number, p place, o *outcome) {
	lowest, hasLowest := n.keywords["minimum"].(json.Number)
	highest, hasHighest := n.keywords["maximum"].(json.Number)
	// In draft 4, the exclusive bounds are properties of the others.
	switch exclusive := n.keywords["exclusiveMinimum"].(type) {
	case bool:
		if exclusive && hasLowest && value.Compare(v, lowest) == 0 {
			o.fault(p, "exclusiveMinimum", "must be greater than %s", lowest)
		}
	case json.Number:
		if value.Compare(v, exclusive) <= 0 {
			o.fault(p, "exclusiveMinimum", "must be greater than %s", exclusive)
		}
	}
	switch exclusive := n.keywords["exclusiveMaximum"].(type) {
	case bool:
		if exclusive && hasHighest && value.Compare(v, highest) == 0 {
			o.fault(p, "exclusiveMaximum", "must be less than %s", highest)
		}
	case json.Number:
		if value.Compare(v, exclusive) >= 0 {
			o.fault(p, "exclusiveMaximum", "must be less than %s", exclusive)
		}
	}
	if hasLowest && value.Compare(v, lowest) < 0 {
		o.fault(p, "minimum", "must be at least %s", lowest)
	}
	if hasHighest && value.Compare(v, highest) > 0 {
		o.fault(p, "maximum", "must be at most %s", highest)
	}
	if unit, ok := n.keywords["multipleOf"].(json.Number); ok && !value.IsMultiple(v, unit) {
		o.fault(p, "multipleOf", "must be a multiple of %s", unit)
	}
}

func (r *run) checkString(n *node, v string, p place, o *outcome) {
	n.checkSize(utf8.RuneCountInString(v), "Length", "characters", p, o)
	if pattern, ok := n.keywords["pattern"].(string); ok && !r.matches(pattern, v) {
		o.fault(p, "pattern", "must match the pattern %s", pattern)
	}
	if name, ok := n.keywords["format"].(string); ok && !hasFormat(v, name) {
		o.fault(p, "format", "must have the format %s", name)
	}
}

func (r *run) matches(pattern, text string) bool {
	ok, err := r.match(r.ctx, pattern, text)
	if err != nil {
		panic(abort{err})
	}
	return ok
}

// checkSize applies the keywords min<what> and max<what>.
func (n *node) checkSize(size int, what, unit string, p place, o *outcome) {
	if least := n.count("min"+what, 0); size < least {
		o.fault(p, "min"+what, "must have at least %d %s, has %d", least, unit, size)
	}
	if most := n.count("max"+what, size); size > most {
		o.fault(p, "max"+what, "must have at most %d %s, has %d", most, unit, size)
	}
}

func (r *run) checkArray(n *node, v []any, p place, o *outcome) {
	n.checkSize(len(v), "Items", "items", p, o)
	if unique, _ := n.keywords["uniqueItems"].(bool); unique {
		checkUnique(v, p, o)
	}
	first, rest := length(n, "prefixItems"), n.child("items")
	tuple := "prefixItems"
	if list, ok := n.keywords["items"].([]any); ok { // before 2020-12
		tuple, first, rest = "items", len(list), n.child("additionalItems")
	}
	for i, e := range v {
		var s *node
		if i < first {
			s = n.item(tuple, i)
		} else {
			s = rest
		}
		if s != nil {
			o.faults = append(o.faults, r.within(s, p.member(strconv.Itoa(i), e), o)...)
			r.seeItem(o, i)
		}
	}
	r.checkContains(n, v, p, o)
	if s := n.child("unevaluatedItems"); s != nil {
		for i, e := range v {
			if !o.items[i] {
				o.faults = append(o.faults, r.within(s, p.member(strconv.Itoa(i), e), o)...)
				r.seeItem(o, i)
			}
		}
	}
}

func (r *run) seeItem(o *outcome, i int) {
	if r.tracks {
		o.item(i)
	}
}

func (r *run) seeProperty(o *outcome, name string) {
	if r.tracks {
		o.property(name)
	}
}

// within applies a schema to a member, and returns as many faults as there is room for.
func (r *run) within(s *node, p place, o *outcome) []Fault {
	faults := r.check(s, p).faults
	return faults[:min(len(faults), maxFaults-len(o.faults))]
}

func checkUnique(v []any, p place, o *outcome) {
	seen := make(map[string]int, len(v))
	for i, e := range v {
		key := value.Key(e)
		if first, ok := seen[key]; ok {
			o.fault(p, "uniqueItems", "must have no equal items, but %d and %d are equal", first, i)
			return
		}
		seen[key] = i
	}
}

func (r *run) checkContains(n *node, v []any, p place, o *outcome) {
	s := n.child("contains")
	if s == nil {
		return
	}
	var matches int
	for i, e := range v {
		if r.check(s, p.member(strconv.Itoa(i), e)).fits() {
			matches++
			if n.draft >= draft2020 {
				r.seeItem(o, i)
			}
		}
	}
	if least := n.count("minContains", 1); matches < least {
		o.fault(p, "contains", "must have at least %d items that fit the schema of contains, has %d", least, matches)
	}
	if most := n.count("maxContains", matches); matches > most {
		o.fault(p, "maxContains", "must have at most %d items that fit the schema of contains, has %d", most, matches)
	}
}

func (r *run) checkObject(n *node, v map[string]any, p place, o *outcome) {
	n.checkSize(len(v), "Properties", "properties", p, o)
	required(n.keywords["required"], "required", v, p, o)
	r.checkDependencies(n, v, p, o)
	properties, _ := n.keywords["properties"].(map[string]any)
	patternProperties, _ := n.keywords["patternProperties"].(map[string]any)
	byPattern := slices.Sorted(maps.Keys(patternProperties))
	others := n.child("additionalProperties")
	names := n.child("propertyNames")
	for _, name := range slices.Sorted(maps.Keys(v)) {
		at := p.member(name, v[name])
		if names != nil {
			if got := r.check(names, place{value: name, path: at.path, scope: p.scope}); !got.fits() {
				o.fault(p, "propertyNames", "must not have the property %q, whose name %s", name, got.faults[0].Message)
			}
		}
		_, known := properties[name]
		if known {
			o.faults = append(o.faults, r.within(n.member("properties", name), at, o)...)
		}
		for _, pattern := range byPattern {
			if r.matches(pattern, name) {
				known = true
				o.faults = append(o.faults, r.within(n.member("patternProperties", pattern), at, o)...)
			}
		}
		if known {
			r.seeProperty(o, name)
		} else if others != nil {
			r.checkOther(others, "additionalProperties", name, p, at, o)
		}
	}
	if s := n.child("unevaluatedProperties"); s != nil {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !o.properties[name] {
				r.checkOther(s, "unevaluatedProperties", name, p, p.member(name, v[name]), o)
			}
		}
	}
}

// checkOther applies the schema for properties that nothing else names.
func (r *run) checkOther(s *node, keyword, name string, p, at place, o *outcome) {
	if s.always != nil && !*s.always {
		o.fault(p, keyword, "must not have the property %q", name)
		return
	}
	o.faults = append(o.faults, r.within(s, at, o)...)
	r.seeProperty(o, name)
}

func (r *run) checkDependencies(n *node, v map[string]any, p place, o *outcome) {
	for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		dependencies, _ := n.keywords[keyword].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(dependencies)) {
			if _, ok := v[name]; !ok {
				continue
			}
			if s := n.member(keyword, name); s != nil {
				o.merge(r.check(s, p))
			} else {
				required(dependencies[name], keyword, v, p, o)
			}
		}
	}
}

// required checks that an object has the properties of a list.
func required(list any, keyword string, v map[string]any, p place, o *outcome) {
	names, _ := list.([]any)
	for _, name := range names {
		if name, ok := name.(string); ok {
			if _, ok := v[name]; !ok {
				o.fault(p, keyword, "must have the property %q", name)
			}
		}
	}
}
