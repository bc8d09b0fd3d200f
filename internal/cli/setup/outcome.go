package setup

import (
	"errors"
	"slices"
)

// The states in which a step ends.
const (
	Done      = "done"
	Unchanged = "unchanged" // it was fine already
	Skipped   = "skipped"
	Failed    = "failed"
)

// An Outcome is the result of a step.
type Outcome struct {
	Step   string `json:"step"`
	State  string `json:"state"`
	Detail string `json:"detail"`         // what was found or done, or why not
	Next   string `json:"next,omitempty"` // how to go on, where that is up to the user
}

// A Summary is the result of all steps.
type Summary struct {
	OK      bool      `json:"ok"` // no step failed
	EnvFile string    `json:"env_file"`
	Steps   []Outcome `json:"steps"`
	Bot     string    `json:"bot,omitempty"`   // user name of the Telegram bot
	Owner   int64     `json:"owner,omitempty"` // Telegram id that has become allowed
	Running bool      `json:"running"`         // the gateway answers
}

func (s Summary) fine() bool {
	return !slices.ContainsFunc(s.Steps, func(o Outcome) bool { return o.State == Failed })
}

// A trouble is why a step failed, with how to go on.
type trouble struct{ why, next string }

func (t *trouble) Error() string { return t.why }

func failure(err error) Outcome {
	o := Outcome{State: Failed, Detail: err.Error()}
	if t, ok := errors.AsType[*trouble](err); ok {
		o.Next = t.next
	}
	return o
}

func done(detail string) Outcome      { return Outcome{State: Done, Detail: detail} }
func unchanged(detail string) Outcome { return Outcome{State: Unchanged, Detail: detail} }
func skipped(why string) Outcome      { return Outcome{State: Skipped, Detail: why} }
