package setup

import "errors"

// The final states of a step.
const (
	Done      = "done"
	Unchanged = "unchanged" // nothing to do
	Skipped   = "skipped"
	Failed    = "failed"
)

// An Outcome is the result of a step. As an error an Outcome is the failure of a step.
type Outcome struct {
	Step   string `json:"step"`
	State  string `json:"state"`
	Detail string `json:"detail"`         // the finding, the change, or the reason
	Next   string `json:"next,omitempty"` // the user's next action
}

// Error returns the reason.
func (o Outcome) Error() string { return o.Detail }

// A Summary is the result of all steps.
type Summary struct {
	OK      bool      `json:"ok"` // no step failed
	EnvFile string    `json:"env_file"`
	Steps   []Outcome `json:"steps"`
	Bot     string    `json:"bot,omitempty"`   // user name of the Telegram bot
	Owner   int64     `json:"owner,omitempty"` // Telegram id allowed in this run
	Running bool      `json:"running"`         // the gateway answers
}

func failure(err error) Outcome {
	if o, ok := errors.AsType[Outcome](err); ok {
		return o
	}
	return Outcome{State: Failed, Detail: err.Error()}
}

func trouble(why, next string) Outcome { return Outcome{State: Failed, Detail: why, Next: next} }

func done(detail string) Outcome      { return Outcome{State: Done, Detail: detail} }
func unchanged(detail string) Outcome { return Outcome{State: Unchanged, Detail: detail} }
func skipped(why string) Outcome      { return Outcome{State: Skipped, Detail: why} }

func doneIf(changed bool, detail string) Outcome {
	if changed {
		return done(detail)
	}
	return unchanged(detail)
}
