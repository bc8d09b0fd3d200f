package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bareclaw/core"
	"bareclaw/internal/typo"
)

// The tools that reach the others. Their schemas never change, because a model goes on using
// the schema that it has once seen.
const (
	SearchName = "tool_search"
	CallName   = "tool_call"
)

// maxFound is how many tools a search returns.
const maxFound = 10

// dispatchers is the source of tool_search and tool_call.
type dispatchers struct{}

// Dispatchers returns the source of tool_search and tool_call.
func Dispatchers() Source { return dispatchers{} }

// Name implements Source.
func (dispatchers) Name() string { return Gateway }

// Tools implements Source.
func (dispatchers) Tools(r *Registry) []Tool {
	return []Tool{
		{
			Name:        SearchName,
			Description: "Find tools of the gateway by words of their names and descriptions. Returns the present schemas; a tool may have changed since the conversation began. An empty query lists all tools.",
			Input:       json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"Words, such as: compare json"}},"required":["query"]}`),
			Annotations: Annotations{ReadOnly: true, Idempotent: true},
			Category:    Meta,
			Pinned:      true,
			Reach:       ReachOwn,
			Handle:      WithArgs(r.search),
		},
		{
			Name:        CallName,
			Description: "Call a tool of the gateway by name, also one that was made during the conversation. tool_search shows names and schemas.",
			Input:       json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"args":{"type":"object","description":"The arguments, as the tool's schema says."}},"required":["name"]}`),
			Category:    Meta,
			Pinned:      true,
			Timeout:     unlimited, // the tool that is called has its own limit, and a person may have to allow the call
			Reach:       ReachOwn,  // the tool that is called has its own
			Handle:      WithArgs(r.callByName),
		},
	}
}

// A found is a tool in the result of a search.
type found struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Source      string          `json:"source"`
	Schema      json.RawMessage `json:"inputSchema"`
}

// searchArgs are the arguments of tool_search.
type searchArgs struct {
	Query string `json:"query"`
}

func (r *Registry) search(_ context.Context, c Call, args searchArgs) (Result, error) {
	type hit struct {
		tool  Tool
		score int
	}
	words := strings.FieldsFunc(strings.ToLower(args.Query), func(r rune) bool { return !isWord(r) })
	var hits []hit
	for _, t := range r.List(c.View) {
		if score := matchScore(&t, words); score > 0 || len(words) == 0 {
			hits = append(hits, hit{t, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	if len(words) > 0 {
		hits = hits[:min(len(hits), maxFound)]
	}
	list := make([]found, len(hits))
	for i, h := range hits {
		list[i] = found{h.tool.Name, h.tool.Description, h.tool.Source, h.tool.Input}
	}
	return Object(map[string]any{"tools": list})
}

// matchScore counts the words that a tool has: in its name for more than in its description.
func matchScore(t *Tool, words []string) (score int) {
	name, description := strings.ToLower(t.Name), strings.ToLower(t.Description)
	for _, w := range words {
		switch {
		case strings.Contains(name, w):
			score += 3
		case strings.Contains(description, w):
			score++
		}
	}
	return score
}

func isWord(r rune) bool { return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127 }

// callArgs are the arguments of tool_call.
type callArgs struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func (r *Registry) callByName(ctx context.Context, c Call, args callArgs) (Result, error) {
	t, ok, err := r.find(ctx, args.Name, c.View)
	switch {
	case errors.Is(err, core.ErrClosed):
		return Result{}, NotBegun(args.Name, err)
	case err != nil:
		return Result{}, err
	case !ok:
		return Result{}, r.noTool(args.Name, c)
	case !t.ByName:
		return Result{}, fmt.Errorf("%s is called by its own name only, not by %s", args.Name, CallName)
	}
	c.Args = args.Args
	return r.Call(ctx, args.Name, c)
}

// noTool says that there is no tool with a name, and why, or which names resemble it.
func (r *Registry) noTool(name string, c Call) error {
	if why := r.whyMissing(name, c.View); why != "" {
		return fmt.Errorf("there is no tool %.120q now. %s", name, why)
	}
	return fmt.Errorf("there is no tool %.120q%s", name, r.nearest(name, c))
}

// nearest returns the names that resemble an unknown one, as the end of a sentence.
func (r *Registry) nearest(name string, c Call) string {
	var names []string
	for _, t := range r.List(c.View) {
		names = append(names, t.Name)
	}
	like := Nearest(name, names)
	if like == nil {
		return "; " + SearchName + " lists all"
	}
	return "; did you mean " + strings.Join(like, ", ") + "?"
}

// Nearest returns the names, at most three, that resemble an unknown one, of any length; nil for
// none.
func Nearest(name string, among []string) (like []string) {
	limit := max(2, len(name)/3)
	for _, n := range among {
		if len(name)-len(n) <= limit && len(like) < 3 && typo.Distance(n, name) <= limit { // the distance is at least the difference in length
			like = append(like, n)
		}
	}
	return like
}
