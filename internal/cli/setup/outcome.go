package setup

import (
	"errors"
	"slices"
)

// The final states of a step.
const (
	Done      = "done"
	Unchanged = "unchanged" // nothing to do
	Skipped   = "skipped"
	Failed    = "failed"
)

// An Outcome is the result of a step.
type Outcome struct {
	Step   string `json:"step"`
	State  string `json:"state"`
	Detail string `json:"detail"`         // the finding, the change, or the reason
	Next   string `json:"next,omitempty"` // the user's next action
}

// A Summary is the result of all steps.
type Summary struct {
	OK      bool      `json:"ok"` // no step failed
	EnvFile string    `json:"env_file"`
	Steps   []Outcome `json:"steps"`
	Bot     string    `json:"bot,omitempty"`   // user name of the Telegram bot
	Owner   int64     `json:"owner,omitempty"` // Telegram id allowed in this run
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
