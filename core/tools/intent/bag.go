package intent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bareclaw/core/tools"
)

// A Bag is the tools that somebody needs who carries a request out.
type Bag struct {
	Tools    []tools.Tool // at most MaxBag; the most important first
	Reason   string       // why these, in sentences
	Excluded int          // the number of other tools
}

// MaxBag bounds a bag, in tools.
const MaxBag = 30

// How many tools a bag has at most after a part of it was put in. What the part has beyond comes at last, if
// there is room.
const (
	upToDomain = 28 // after all tools of the primary domain
	upToCut    = 23 // after those of a primary domain that has too many
	upToChecks = 28
)

// Curate returns the tools of a view for a request: those that search and call, those that the analysis
// suggests, those of its primary domain, those that check and make data, and what a search for the request
// finds of its secondary domains. Where nothing fits the request, only those that search and call. The error is that of
// Analyze.
func (a *Analyzer) Curate(ctx context.Context, r Request, v tools.View) (Bag, error) {
	r, err := r.normal()
	if err != nil {
		return Bag{}, err
	}
	c := r.contents()
	made, err := a.analyze(ctx, r, v, func() *contents { return c })
	if err != nil {
		return Bag{}, err
	}
	all := a.catalog.List(v)
	p := packing{taken: map[string]bool{}}
	p.fill(all, MaxBag, func(t *tools.Tool) bool { return t.Name == tools.SearchName || t.Name == tools.CallName })
	if made.Note != "" { // nothing fits
		return Bag{
			Tools:    p.tools,
			Reason:   made.Note,
			Excluded: len(all) - len(p.tools),
		}, nil
	}
	ranked, err := a.rank(c.all().all, v, all)
	if err != nil {
		return Bag{}, err
	}
	isPrimary := func(t *tools.Tool) bool { return t.Category == made.PrimaryDomain }
	for _, name := range made.SuggestedTools {
		p.fill(all, MaxBag, func(t *tools.Tool) bool { return t.Name == name })
	}
	upToPrimary := upToDomain
	if len(p.tools)+p.missing(all, isPrimary) > upToDomain {
		upToPrimary = upToCut
	}
	p.fill(ranked.found, upToPrimary, isPrimary)
	p.fill(ranked.others, upToPrimary, isPrimary)
	p.fill(ranked.found, upToChecks, isCheck)
	p.fill(ranked.others, upToChecks, isCheck)
	for _, domain := range made.SecondaryDomains {
		isSecondary := func(t *tools.Tool) bool { return t.Category == domain }
		p.fill(ranked.found, MaxBag, isSecondary)
	}
	isLeft := func(t *tools.Tool) bool { return isPrimary(t) || isCheck(t) }
	p.fill(ranked.found, MaxBag, isLeft)
	p.fill(ranked.others, MaxBag, isLeft)
	return Bag{
		Tools:    p.tools,
		Reason:   reasonOf(&made, p.tools, all),
		Excluded: len(all) - len(p.tools),
	}, nil
}

// isCheck reports whether a tool checks something or makes data, which every domain needs.
func isCheck(t *tools.Tool) bool {
	return strings.HasPrefix(t.Name, "assert_") || strings.HasPrefix(t.Name, "data_")
}

// A ranking is tools that a search has found, the best first, and the others by name.
type ranking struct{ found, others []tools.Tool }

// rank ranks all tools of a view by the words of a request.
func (a *Analyzer) rank(said words, v tools.View, all []tools.Tool) (ranked ranking, err error) {
	ranked.found, err = a.catalog.SearchWords(said.String(), v, len(all))
	if err != nil {
		return ranking{}, err
	}
	isFound := map[string]bool{}
	for i := range ranked.found {
		isFound[ranked.found[i].Name] = true
	}
	for i := range all {
		if !isFound[all[i].Name] {
			ranked.others = append(ranked.others, all[i])
		}
	}
	return ranked, nil
}

// A packing is a bag that is being filled.
type packing struct {
	tools []tools.Tool
	taken map[string]bool // by name
}

// fill adds those of some tools that belong there, until the bag has a number of tools.
func (p *packing) fill(all []tools.Tool, upTo int, belongs func(*tools.Tool) bool) {
	for i := range all {
		t := &all[i]
		if len(p.tools) >= upTo {
			return
		}
		if p.taken[t.Name] || !belongs(t) {
			continue
		}
		p.taken[t.Name] = true
		p.tools = append(p.tools, *t)
	}
}

// missing returns how many of those tools that belong there are not in the bag.
func (p *packing) missing(all []tools.Tool, belongs func(*tools.Tool) bool) (n int) {
	for i := range all {
		if !p.taken[all[i].Name] && belongs(&all[i]) {
			n++
		}
	}
	return n
}

// reasonOf says why a bag has its tools.
func reasonOf(a *Analysis, bag, all []tools.Tool) string {
	inBag := countOf(bag, a.PrimaryDomain)
	inAll := countOf(all, a.PrimaryDomain)
	text := fmt.Sprintf("A %s request, mainly of the domain %s: %d of its %d tools", a.Complexity, a.PrimaryDomain, inBag, inAll)
	if slices.ContainsFunc(bag, func(t tools.Tool) bool { return isCheck(&t) }) {
		text += ", those that check something or make data (assert_*, data_*)"
	}
	var also []string
	for _, domain := range a.SecondaryDomains {
		also = append(also, string(domain))
	}
	if len(also) > 0 {
		text += ", and what serves it of " + strings.Join(also, ", ")
	}
	return text + ". " + tools.SearchName + " finds the others."
}

func countOf(all []tools.Tool, c tools.Category) (n int) {
	for i := range all {
		if all[i].Category == c {
			n++
		}
	}
	return n
}

// A definition is a tool in the result of curate_tool_bag; without Schema it is not whole.
type definition struct {
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Schema         json.RawMessage `json:"inputSchema,omitempty"`
	Category       tools.Category  `json:"category"`
	RequiresWorker bool            `json:"requiresWorker,omitempty"`
	Retries        int             `json:"retries,omitempty"`
}

func whole(t *tools.Tool) definition {
	d := brief(t)
	d.Description = t.Description
	d.Schema = t.Input
	return d
}

func brief(t *tools.Tool) definition {
	return definition{
		Name:           t.Name,
		Description:    tools.BriefOf(t),
		Category:       t.Category,
		RequiresWorker: t.RequiresWorker,
		Retries:        t.Retries,
	}
}

// A bagResult is what curate_tool_bag returns.
type bagResult struct {
	Tools    []definition `json:"tools"`
	Reason   string       `json:"reason"`
	Excluded int          `json:"excludedCount"`
	Note     string       `json:"note,omitempty"` // what is left out, and how to get it
}

// shown returns the result with a bag, within the bounds of tool_search.
func shown(b *Bag) bagResult {
	result := bagResult{
		Reason:   b.Reason,
		Excluded: b.Excluded,
	}
	var isCut bool
	result.Tools, isCut = tools.Describe(b.Tools, whole, brief)
	if isCut {
		result.Note = tools.CutNote
	}
	return result
}
