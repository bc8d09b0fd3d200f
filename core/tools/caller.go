package tools

import (
	"bareclaw/core"
	"bareclaw/internal/toolset"
)

// A Caller is who calls tools, and what it sees of the registry. It is made where a call enters the
// gateway. The zero value is a client of the user, which sees all tools.
type Caller struct {
	Channel core.ChannelKey // whose session calls; empty for a client outside of sessions
	Session string          // its id
	Turn    core.TurnID     // being answered; empty outside of turns
	// Depth is the number of agents that were asked, each by the one before, until this one was. It is 0
	// for the agent that a person, a program or a schedule has asked.
	Depth int
	// Local says that the call came over the socket that claude's own commands reach.
	Local bool
	// View is what the caller sees of the registry.
	View View
}

// ByUser reports whether a client of the user calls, which may do what the user may.
func (c *Caller) ByUser() bool { return c.Channel == "" && !c.Local }

// A View is a named filter of a registry's tools: who looks through it neither finds nor calls the
// others. Each view has tool_search and tool_call, by which the others of the view are reached. The
// zero value filters nothing. All methods are safe for concurrent use, and none blocks.
type View struct {
	// Name identifies the view.
	Name string

	names    func(name string) bool // nil: any name
	category Category               // empty: any category
}

// ViewOf returns the view of the tools in a set, which is its name. A set that is no choice has no tools.
func ViewOf(set toolset.Set) View {
	v := View{Name: string(set)}
	if set != toolset.All {
		v.names = set.Has
	}
	return v
}

// MayHave reports whether the view has a tool with a name, as far as names say: a tool that is not known
// yet may have any category.
func (v View) MayHave(name string) bool {
	return v.names == nil || isDispatcher(name) || v.names(name)
}

// Has reports whether the view has a tool of a registry.
func (v View) Has(t *Tool) bool {
	if isDispatcher(t.Name) {
		return true
	}
	return v.MayHave(t.Name) && (v.category == "" || v.category == t.Category)
}

// isDispatcher reports whether a tool is tool_search or tool_call.
func isDispatcher(name string) bool { return name == SearchName || name == CallName }
