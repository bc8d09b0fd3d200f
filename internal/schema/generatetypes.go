package schema

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bareclaw/internal/schema/value"
)

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
			if ok, err := g.match(g.ctx, pattern, name); ok && err == nil {
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
