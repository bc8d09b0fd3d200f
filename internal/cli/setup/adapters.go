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

// Current returns a setting.
func (g guide) Current(variable string) string { return g.w.current(variable) }

// Choose changes a setting.
func (g guide) Choose(variable, value string) error { return g.w.choose(variable, value) }

// Forget takes back a change.
func (g guide) Forget(variable string) { delete(g.w.choices, variable) }

// Path returns the path of the file of settings.
func (g guide) Path() string { return g.w.path }

// InEnviron returns a variable of the environment in which init was called.
func (g guide) InEnviron(variable string) string { return g.w.inEnviron(variable) }

// Save saves the changes.
func (g guide) Save() error {
	_, err := g.w.write()
	return err
}

// Asks reports whether there is a person to ask.
func (g guide) Asks() bool { return g.w.asks() }

// Settle takes a value from a flag, or asks for one until it is taken.
func (g guide) Settle(ctx context.Context, variable string, q steps.Question, byDefault string, take func(string) error) error {
	return g.w.settle(ctx, variable, q, byDefault, take)
}

// Confirm asks a question of yes or no.
func (g guide) Confirm(ctx context.Context, text, help string) (bool, error) {
	return g.w.confirm(ctx, text, help)
}

// AwaitSkip waits until the person skips the step.
func (g guide) AwaitSkip(ctx context.Context) error { return g.w.awaitSkip(ctx) }

// Note prints a text that belongs to the step.
func (g guide) Note(format string, args ...any) { g.w.note(format, args...) }

// Print prints a text as it is.
func (g guide) Print(text string) { g.w.print(text) }
