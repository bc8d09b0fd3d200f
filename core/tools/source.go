package tools

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Gateway is the source of the daemon's own tools.
const Gateway = "gateway"

// A Source provides tools to a registry, which is made with its sources.
type Source interface {
	// Name returns the name by which the tools are counted and shown, in lowercase letters.
	// Several sources may have the same name.
	Name() string
	// Tools returns the tools that the source has at first. NewRegistry calls Tools once. Handlers
	// of the tools may call r, which has no tools yet.
	Tools(r *Registry) []Tool
}

// A LateSource is a Source with tools that are known some time after the registry is made.
type LateSource interface {
	Source
	// Await blocks until the tool with a name is known, or all tools of the source are; without a
	// name, until all are. It returns at once for a name that no tool of the source can have. The
	// error says why the tools will not be known; it is core.ErrClosed if the gateway ends before,
	// and the cause of ctx if ctx does.
	Await(ctx context.Context, name string) error
	// WhyMissing returns why the source has no tool with a name, as a sentence; empty: the source
	// knows no reason.
	WhyMissing(name string) string
}

// A fixed source has the same tools at all times.
type fixed struct {
	name  string
	tools []Tool
}

// Fixed returns a source whose tools do not change. None of them may have the name of a tool of another
// such source.
func Fixed(name string, all ...Tool) Source { return &fixed{name, all} }

// Name implements Source.
func (f *fixed) Name() string { return f.name }

// Tools implements Source.
func (f *fixed) Tools(*Registry) []Tool { return f.tools }

// A List is a source whose tools change. It is empty at first. A source with further methods, such as
// a LateSource, embeds its List. All methods are safe for concurrent use.
type List struct {
	name     string
	registry atomic.Pointer[Registry] // nil before a registry is made with the list
}

// NewList returns a list for one registry.
func NewList(name string) *List { return &List{name: name} }

// Name implements Source.
func (l *List) Name() string { return l.name }

// self returns the list, also of a source that embeds it.
func (l *List) self() *List { return l }

// Tools implements Source.
func (l *List) Tools(r *Registry) []Tool {
	l.registry.Store(r)
	return nil
}

// Replace replaces all tools of the list. It changes nothing and returns an error if a tool is
// unfit. A tool with the name of an earlier one, of the list or of an earlier source, is left out until
// that tool goes: see Registry.Clashes.
func (l *List) Replace(all []Tool) error { return ReplaceAll(map[*List][]Tool{l: all}) }

// BagsChanged is that of the registry, if one is made with the list.
func (l *List) BagsChanged() {
	if r := l.registry.Load(); r != nil {
		r.BagsChanged()
	}
}

// ReplaceAll replaces all tools of several lists of a registry at once, as Replace does for one:
// a tool may move from one list to another.
func ReplaceAll(lists map[*List][]Tool) error {
	var r *Registry
	for l := range lists {
		own := l.registry.Load()
		if own == nil || r != nil && r != own {
			return fmt.Errorf("the list of %s tools has no registry, or another one", l.name)
		}
		r = own
	}
	if r == nil {
		return nil
	}
	return r.replace(lists)
}
