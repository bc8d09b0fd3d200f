package intent

import (
	"cmp"
	"slices"
	"strings"

	"bareclaw/core/tools"
)

// A candidate is a tool that can be a step of a recipe.
type candidate struct {
	tool        *tools.Tool
	alternative int // of the step
}

// isNamed reports whether a tool has a name, also behind a prefix: mounted tools have that of their server.
func isNamed(t *tools.Tool, name string) bool {
	return t.Name == name || strings.HasSuffix(t.Name, "_"+name)
}

// candidatesFor returns the tools of a list that can be a step.
func candidatesFor(s step, all []tools.Tool) (list []candidate) {
	for i := range all {
		for n, name := range s {
			if isNamed(&all[i], name) {
				list = append(list, candidate{&all[i], n})
				break
			}
		}
	}
	return list
}

// toolsFor returns the tools of a list that are the steps of a recipe, in their order, without steps for
// which there is no tool. Where several tools can be a step, that of the source counts which has the most
// steps: a page that one browser has opened is not clicked in another one.
func toolsFor(r *recipe, all []tools.Tool) (list []*tools.Tool) {
	steps := make([][]candidate, len(r.Steps))
	bySource := map[string]int{} // the number of steps
	for i, s := range r.Steps {
		steps[i] = candidatesFor(s, all)
		sources := map[string]bool{}
		for _, c := range steps[i] {
			sources[c.tool.Source] = true
		}
		for source := range sources {
			bySource[source]++
		}
	}
	for _, candidates := range steps {
		if len(candidates) == 0 {
			continue
		}
		best := slices.MinFunc(candidates, func(a, b candidate) int {
			return cmp.Or(
				cmp.Compare(bySource[b.tool.Source], bySource[a.tool.Source]),
				cmp.Compare(a.alternative, b.alternative),
				cmp.Compare(len(a.tool.Name), len(b.tool.Name)),
				strings.Compare(a.tool.Name, b.tool.Name),
			)
		})
		if !slices.Contains(list, best.tool) {
			list = append(list, best.tool)
		}
	}
	return list
}

// named returns the tool of a list that a name means: that of the name, or the only one that has it behind a
// prefix.
func named(name string, all []tools.Tool) (t *tools.Tool, ok bool) {
	if name == "" {
		return nil, false
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], true
		}
	}
	candidates := candidatesFor(step{name}, all)
	if len(candidates) != 1 {
		return nil, false
	}
	return candidates[0].tool, true
}
