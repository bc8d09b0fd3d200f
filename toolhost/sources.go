package toolhost

import (
	"context"

	"bareclaw/core/tools"
)

// Sources returns what the tool host brings to a registry: the tools that look after the tool
// host, those of its program, and those of the tools directory.
func (k *Keeper) Sources() []tools.Source {
	return []tools.Source{management{k}, k.offer.builtin, fromFiles{k.offer.dynamic, k}}
}

// management is the source of the tools that look after the tool host.
type management struct{ keeper *Keeper }

// Name implements [tools.Source].
func (management) Name() string { return tools.Gateway }

// Tools implements [tools.Source].
func (m management) Tools(r *tools.Registry) []tools.Tool { return m.keeper.manager(r).tools() }

// fromFiles is the source of the tools of the tools directory. Those of the program become known
// at the same time.
type fromFiles struct {
	*tools.List

	keeper *Keeper
}

// Await implements [tools.LateSource].
func (f fromFiles) Await(ctx context.Context, name string) error {
	return f.keeper.awaitTools(ctx, name)
}

// WhyMissing implements [tools.LateSource].
func (f fromFiles) WhyMissing(name string) string { return f.keeper.whyMissing(name) }
