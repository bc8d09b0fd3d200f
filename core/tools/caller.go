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
// others. The zero value filters nothing.
type View struct {
	// Name identifies the view.
	Name string

	has func(name string) bool // nil: every tool
}

// ViewOf returns the view of the tools in a set, which is its name. A set that is no choice has no tools.
func ViewOf(set toolset.Set) View {
	v := View{Name: string(set)}
	if set != toolset.All {
		v.has = set.Has
	}
	return v
}

// Has reports whether the view has the tool with a name. Each view has tool_search and tool_call, by
// which the others of the view are reached.
func (v View) Has(name string) bool {
	return v.has == nil || name == SearchName || name == CallName || v.has(name)
}
