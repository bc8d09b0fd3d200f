package intent

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"bareclaw/core/tools"
)

// A Complexity is how much a request takes.
type Complexity string

// The complexities.
const (
	Simple   Complexity = "simple"   // one call of a tool that there is
	Compound Complexity = "compound" // several steps, or what is wanted in words
	Swarm    Complexity = "swarm"    // work that can be done in parallel
)

// An Analysis is what a request takes.
type Analysis struct {
	PrimaryDomain    tools.Category   `json:"primaryDomain"`
	SecondaryDomains []tools.Category `json:"secondaryDomains"` // of other suggested tools, the most important first
	Complexity       Complexity       `json:"complexity"`
	SuggestedTools   []string         `json:"suggestedTools"` // names, in the order of the steps; all of them exist
	Parallelizable   bool             `json:"parallelizable"`
	EstimatedSteps   int              `json:"estimatedSteps"` // at least 1
	Note             string           `json:"note,omitempty"` // that neither a domain nor a tool fits
}

// nothingFits is the Note of an analysis without a domain and without tools.
const nothingFits = "No domain and no tool fits this request, as far as its words tell: nothing is suggested. " + tools.SearchName + " finds tools by other words."

// Bounds of what is suggested.
const (
	maxSuggested = 15 // tools
	maxFound     = 7  // tools that searches have found
	minFound     = 2  // of a clause
)

// swarmFrom is the number of resources from which on work is parallel.
const swarmFrom = 3

// A draft is an analysis that is being made.
type draft struct {
	catalog Catalog
	view    tools.View
	all     []tools.Tool // of the view, by name

	suggested []*tools.Tool
	weights   map[tools.Category]float64
	steps     int
}

// analyze makes the analysis of a request with its contents.
func (d *draft) analyze(ctx context.Context, r Request, c *contents) (Analysis, error) {
	tool, isKnown := named(r.Tool, d.all)
	fits := false
	if isKnown {
		var err error
		if fits, err = d.fits(ctx, tool, r.Args); err != nil {
			return Analysis{}, err
		}
	}
	parts := []part{c.text}
	if !isKnown { // else it is one step, whatever its name says
		parts = append([]part{c.name}, parts...)
	}
	if !fits { // else the tool reads the arguments
		parts = append(parts, c.args)
	}
	said := readingOf(parts...)
	isSwarm := known().askedFor(said.all) || said.resources >= swarmFrom
	if fits && !isSwarm && len(said.clauses) <= 1 {
		d.suggest(tool, toolWeight)
		d.steps = 1
		return d.result(Simple, said), nil
	}
	if isKnown {
		d.suggest(tool, toolWeight)
		d.steps = 1
	}
	if err := d.follow(ctx, said); err != nil {
		return Analysis{}, err
	}
	d.steps = max(d.steps, 1)
	if isSwarm {
		return d.result(Swarm, said), nil
	}
	return d.result(Compound, said), nil
}

// fits reports whether a tool can be called with arguments; also if there are none yet.
func (d *draft) fits(ctx context.Context, t *tools.Tool, args json.RawMessage) (bool, error) {
	if len(args) == 0 {
		return true, nil
	}
	if err := d.catalog.CheckArgs(ctx, t, args); err != nil {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, nil
	}
	return hasRequired(t, args), nil
}

// hasRequired reports whether arguments have what the schema of a tool requires, which the tool itself may
// check later.
func hasRequired(t *tools.Tool, args json.RawMessage) bool {
	var schema struct {
		Required []string `json:"required"`
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(t.Input, &schema) != nil || json.Unmarshal(args, &given) != nil {
		return false
	}
	return !slices.ContainsFunc(schema.Required, func(name string) bool { return given[name] == nil })
}

// follow suggests tools for each clause: those of recipes, and those that a search finds unless a recipe has a
// tool of its domain. The error is a fault of the search, or the cause of ctx.
func (d *draft) follow(ctx context.Context, said reading) error {
	perClause := max(minFound, maxFound/max(1, len(said.clauses)))
	for _, clause := range said.clauses {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		clause = known().withoutSwarm(clause)
		for category, count := range known().domainsOf(clause) {
			d.weights[category] += wordWeight * float64(count)
		}
		recipes := known().recipesFor(clause)
		isFollowed := false
		for _, r := range recipes {
			d.weights[r.Domain] += recipeWeight
			for _, t := range toolsFor(r, d.all) {
				isFollowed = isFollowed || t.Category == r.Domain
				if d.suggest(t, 1) {
					d.steps++
				}
			}
		}
		if isFollowed {
			continue
		}
		found, err := d.search(clause, perClause)
		if err != nil {
			return err
		}
		if found || len(recipes) > 0 {
			d.steps++
		}
	}
	return nil
}

// search suggests the tools that are found by the words of a clause.
func (d *draft) search(clause words, limit int) (found bool, err error) {
	hits, err := d.catalog.SearchWords(clause.String(), d.view, limit+len(ownNames))
	if err != nil {
		return false, err
	}
	hits = slices.DeleteFunc(hits, func(t tools.Tool) bool { return slices.Contains(ownNames, t.Name) })
	hits = hits[:min(len(hits), limit)]
	for i := range hits {
		d.suggest(&hits[i], 1/float64(i+1))
	}
	return len(hits) > 0, nil
}

// suggest adds a tool, unless it is suggested already or there are too many, and reports whether it did.
func (d *draft) suggest(t *tools.Tool, weight float64) bool {
	isThere := slices.ContainsFunc(d.suggested, func(other *tools.Tool) bool { return other.Name == t.Name })
	if isThere || len(d.suggested) >= maxSuggested {
		return false
	}
	d.suggested = append(d.suggested, t)
	d.weights[t.Category] += weight
	return true
}

// Weights of what says which category a request is about. A suggested tool counts 1 as a step of a recipe or
// the first hit of a search, and less further down.
const (
	wordWeight   = 1.5 // of a word that names a category
	recipeWeight = 3.0 // of the category of a recipe
	toolWeight   = 3.0 // of the tool that a request names
)

// result returns the analysis.
func (d *draft) result(c Complexity, said reading) Analysis {
	a := Analysis{
		PrimaryDomain:    tools.Utility,
		SecondaryDomains: []tools.Category{},
		Complexity:       c,
		SuggestedTools:   []string{},
		Parallelizable:   c == Swarm,
		EstimatedSteps:   d.steps,
	}
	if c == Swarm {
		a.EstimatedSteps *= max(1, said.resources)
	}
	if len(d.weights) == 0 {
		a.Note = nothingFits
	}
	present := map[tools.Category]bool{}
	for _, t := range d.suggested {
		a.SuggestedTools = append(a.SuggestedTools, t.Name)
		present[t.Category] = true
	}
	for i, category := range d.byWeight() {
		switch {
		case i == 0:
			a.PrimaryDomain = category
		case present[category]:
			a.SecondaryDomains = append(a.SecondaryDomains, category)
		}
	}
	return a
}

// byWeight returns the categories that the request is about, the most important first.
func (d *draft) byWeight() []tools.Category {
	return slices.SortedFunc(maps.Keys(d.weights), func(a, b tools.Category) int {
		return cmp.Or(cmp.Compare(d.weights[b], d.weights[a]), cmp.Compare(a, b))
	})
}
