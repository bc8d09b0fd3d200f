// Package steps says what a step of `bareclaw init` is, what it may ask and change, and what becomes
// of it.
package steps

import (
	"context"
	"errors"
)

// A Step is a step of `bareclaw init`. An error that is an Outcome is told as such.
type Step struct {
	Name  string // for scripts
	Title string // for people
	Run   func(ctx context.Context, w Wizard) (Outcome, error)
}

// A Wizard is a run of `bareclaw init`, as a step sees it. Lines that it prints need not be wrapped;
// texts from outside must be safe for a terminal.
type Wizard interface {
	Settings
	Dialog
}

// Settings are the settings in effect, and the changes to be saved.
type Settings interface {
	// Current returns a setting; empty: its default.
	Current(variable string) string
	// Choose changes a setting. An error is a [*config.Problem] of the value.
	Choose(variable, value string) error
	// Forget takes back a change.
	Forget(variable string)
	// Save writes all changes that make sense by themselves into the file of settings.
	Save() error
	// Path is the file of settings.
	Path() string
	// InEnviron returns a variable of the environment in which init was called.
	InEnviron(variable string) string
}

// A Dialog talks to the person at the terminal, if there is one.
type Dialog interface {
	// Asks reports whether there is a person to ask.
	Asks() bool
	// Settle calls take with the value that a flag gives the variable, or with answers until take
	// returns nil. Where nobody is asked, it calls take once, with byDefault. The error is
	// ErrSkipped, that of take, or of ctx.
	Settle(ctx context.Context, variable string, q Question, byDefault string, take func(string) error) error
	// Confirm asks a question of yes or no.
	Confirm(ctx context.Context, text, help string) (bool, error)
	// AwaitSkip returns ErrSkipped once the person skips the step, or the error of ctx.
	AwaitSkip(ctx context.Context) error
	// Note prints a text that belongs to the step, wrapped.
	Note(format string, args ...any)
	// Print prints a text as it is.
	Print(text string)
}

// A Question has a text and a meaning for the empty answer.
type Question struct {
	Text   string
	Help   string // the answer to "?"
	Has    string // meaning of an empty line, in words; empty: none
	Secret bool   // typed characters stay hidden
}

// Indent begins the lines that belong to a step.
const Indent = "    "

// ErrSkipped is the answer of a person who skips the step.
var ErrSkipped = errors.New("skipped")

// A State is what became of a step.
type State string

// The states.
const (
	StateDone      State = "done"
	StateUnchanged State = "unchanged" // nothing to do
	StateSkipped   State = "skipped"
	StateFailed    State = "failed"
)

// An Outcome is the result of a step. As an error an Outcome is the failure of a step.
type Outcome struct {
	State  State  `json:"state"`
	Detail string `json:"detail"`         // the finding, the change, or the reason
	Next   string `json:"next,omitempty"` // the user's next action
}

// Error returns the reason.
func (o Outcome) Error() string { return o.Detail }

// Trouble returns the outcome of a step that failed, and what to do about it.
func Trouble(why, next string) Outcome {
	return Outcome{State: StateFailed, Detail: why, Next: next}
}

// Done returns the outcome of a step that has changed something.
func Done(detail string) Outcome { return Outcome{State: StateDone, Detail: detail} }

// Unchanged returns the outcome of a step that has found nothing to do.
func Unchanged(detail string) Outcome { return Outcome{State: StateUnchanged, Detail: detail} }

// Skipped returns the outcome of a step that was left out.
func Skipped(why string) Outcome { return Outcome{State: StateSkipped, Detail: why} }

// DoneIf returns Done or Unchanged.
func DoneIf(changed bool, detail string) Outcome {
	if changed {
		return Done(detail)
	}
	return Unchanged(detail)
}
