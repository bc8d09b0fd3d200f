package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"bareclaw/core"
	"bareclaw/internal/typo"
)

// CallName is the tool that calls the others. Its schema never changes, because a model goes on using the
// schema that it has once seen.
const CallName = "tool_call"

// dispatchers is the source of tool_search and tool_call.
type dispatchers struct{}

// Dispatchers returns the source of tool_search and tool_call.
func Dispatchers() Source { return dispatchers{} }

// Name implements Source.
func (dispatchers) Name() string { return Gateway }

// Tools implements Source.
func (dispatchers) Tools(r *Registry) []Tool {
	return []Tool{r.searchTool(), r.callTool()}
}

// callTool returns tool_call.
func (r *Registry) callTool() Tool {
	return Tool{
		Name:        CallName,
		Description: "Call a tool of the gateway by name, also one that was made during the conversation. tool_search shows names and schemas.",
		Input:       json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"args":{"type":"object","description":"The arguments, as the tool's schema says."}},"required":["name"]}`),
		Category:    Meta,
		Pinned:      true,
		Timeout:     unlimited, // the tool that is called has its own limit, and a person may have to allow the call
		Reach:       ReachOwn,  // the tool that is called has its own
		Handle:      WithArgs(r.callByName),
	}
}

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
