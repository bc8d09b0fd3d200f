package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bareclaw/internal/toolset"
)

// A catalog holds the tools of all sources, of which those are offered whose names no tool of an earlier
// source has.
type catalog struct {
	providers []provider // the earlier sources first

	tools   map[string]Tool // those that are offered, by name; merge makes a new map
	clashes []Clash
}

// A provider is a source with the tools that it has now.
type provider struct {
	name  string
	list  *List // nil: its tools do not change
	tools []Tool
}

// A Clash is a tool that is left out because a tool of an earlier source has its name.
type Clash struct {
	Tool, Source       string
	Other, OtherSource string
}

// String describes the clash in a sentence without an end.
func (c Clash) String() string {
	return fmt.Sprintf("the %s tool %q is left out, because the %s tool %q has its name for Claude, %s",
		c.Source, c.Tool, c.OtherSource, c.Other, shown(c.Other))
}

// clone returns a copy that can be changed.
func (c *catalog) clone() catalog {
	next := *c
	next.providers = slices.Clone(c.providers)
	return next
}

// add adds a source with tools, as set does.
func (c *catalog) add(source Source, all []Tool) error {
	p := provider{name: source.Name()}
	if changing, ok := source.(interface{ self() *List }); ok {
		p.list = changing.self()
	}
	c.providers = append(c.providers, p)
	return c.set(&c.providers[len(c.providers)-1], all)
}

// replace replaces the tools of a list, as set does.
func (c *catalog) replace(l *List, all []Tool) error {
	i := slices.IndexFunc(c.providers, func(p provider) bool { return p.list == l })
	if i < 0 {
		return fmt.Errorf("the list of %s tools is not a source of the registry", l.name)
	}
	return c.set(&c.providers[i], all)
}

// set replaces the tools of a provider; merge must follow. The error says which tool is unfit, or has
// the name of another one of them while neither can change.
func (c *catalog) set(p *provider, all []Tool) error {
	fit := make([]Tool, 0, len(all))
	names := map[string]string{} // by the name that claude shows
	for _, t := range all {
		if err := t.fits(); err != nil {
			return err
		}
		if other, taken := names[shown(t.Name)]; taken && p.list == nil {
			return fmt.Errorf("tool %q: %q, of the same source, has that name", t.Name, other)
		}
		names[shown(t.Name)] = t.Name
		t.Source = p.name
		t.Category = categoryOf(&t)
		t.args = c.argsOf(&t)
		fit = append(fit, t)
	}
	p.tools = fit
	return nil
}

// argsOf returns the schema of a tool's arguments: that of the present tool of the name, which may be
// compiled already, unless the arguments have changed.
func (c *catalog) argsOf(t *Tool) *Schema {
	before, ok := c.tools[t.Name]
	if ok && bytes.Equal(before.Input, t.Input) {
		return before.args
	}
	return NewArgsSchema(t.Input)
}

// merge finds out which tools are offered.
func (c *catalog) merge() {
	c.tools = map[string]Tool{}
	c.clashes = nil
	names := map[string]string{} // of the tools, by the name that claude shows
	for _, p := range c.providers {
		for _, t := range p.tools {
			other, taken := names[shown(t.Name)]
			if taken {
				c.clashes = append(c.clashes, Clash{t.Name, t.Source, other, c.tools[other].Source})
				continue
			}
			names[shown(t.Name)] = t.Name
			c.tools[t.Name] = t
		}
	}
}

// count returns the number of offered tools by the name of their source.
func (c *catalog) count() map[string]int {
	n := map[string]int{}
	for _, p := range c.providers {
		n[p.name] = 0
	}
	for name := range c.tools {
		n[c.tools[name].Source]++
	}
	return n
}

// fits returns why claude could not use the tool; nil if it can. Claude drops all tools of a server if one
// has no schema of an object.
func (t *Tool) fits() error {
	var schema struct {
		Type any `json:"type"`
	}
	switch err := json.Unmarshal(t.Input, &schema); {
	case !toolset.IsName(t.Name):
		return fmt.Errorf("tool %.150q: a name is 1 to %d letters, digits and _ . -", t.Name, toolset.MaxName)
	case err != nil:
		return fmt.Errorf("tool %q: its schema is not a JSON object: %w", t.Name, err)
	case schema.Type != "object":
		return fmt.Errorf("tool %q: the type of its schema must be \"object\"", t.Name)
	case t.Handle == nil:
		return fmt.Errorf("tool %q has no handler", t.Name)
	}
	return nil
}

// shown returns the name under which claude shows a tool.
func shown(name string) string { return strings.ReplaceAll(name, ".", "_") }
