package setup

import (
	"context"

	"bareclaw/internal/steps"
)

// ofAdapter returns an adapter's step as one of a run.
func ofAdapter(s steps.Step) step {
	return step{s.Name, s.Title, func(ctx context.Context, w *wizard) (steps.Outcome, error) {
		return s.Run(ctx, guide{w})
	}}
}

// A guide is a wizard as an adapter's step sees it.
type guide struct{ w *wizard }

func (g guide) Current(variable string) string      { return g.w.current(variable) }
func (g guide) Choose(variable, value string) error { return g.w.choose(variable, value) }
func (g guide) Forget(variable string)              { delete(g.w.choices, variable) }
func (g guide) Path() string                        { return g.w.path }
func (g guide) InEnviron(variable string) string    { return g.w.inEnviron(variable) }

func (g guide) Save() error {
	_, err := g.w.write()
	return err
}

func (g guide) Asks() bool { return g.w.asks() }

func (g guide) Settle(ctx context.Context, variable string, q steps.Question, byDefault string, take func(string) error) error {
	return g.w.settle(ctx, variable, q, byDefault, take)
}

func (g guide) Confirm(ctx context.Context, text, help string) (bool, error) {
	return g.w.confirm(ctx, text, help)
}

func (g guide) AwaitSkip(ctx context.Context) error { return g.w.awaitSkip(ctx) }

func (g guide) Note(format string, args ...any) { g.w.note(format, args...) }

func (g guide) Print(text string) { g.w.print(text) }
