package setup

import (
	"errors"
	"slices"

	"bareclaw/internal/term"
)

// The states in which a step ends.
const (
	Done      = "done"
	Unchanged = "unchanged" // it was fine already
	Skipped   = "skipped"
	Failed    = "failed"
)

// An Outcome is what became of a step.
type Outcome struct {
	Step   string `json:"step"`
	State  string `json:"state"`
	Detail string `json:"detail"`         // what was found or done, or why not
	Next   string `json:"next,omitempty"` // how to go on, where that is up to the user
}

// A Summary is what became of all steps.
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

// show writes an outcome for people, each with a word that says it without colours.
func (w *wizard) show(o Outcome) {
	word := map[string]string{Done: "Done", Unchanged: "Fine", Skipped: "Skipped", Failed: "FAILED"}[o.State]
	w.note("%s: %s", word, term.SafeLine(o.Detail))
	if o.Next != "" {
		w.note(arrow+"%s", term.SafeLine(o.Next))
	}
}

// interrupted says what has been done before Ctrl-C.
func (w *wizard) interrupted(s Summary) {
	w.say("")
	w.say("Interrupted. Nothing is half done.")
	if !w.wrote {
		w.say("No setting was changed.")
	}
	if w.bot.token != "" && w.bot.token != w.saved(varBot) {
		w.say("The bot's token was not saved.")
	}
	if w.launched && !w.running {
		w.say("The gateway was started and runs on: see `bareclaw status`.")
	}
	for _, o := range s.Steps {
		if o.State == Done && o.Step != stepSettings && o.Step != stepBot { // which only choose: what was saved says the rest
			w.tell("  %s: %s", o.Step, term.SafeLine(o.Detail))
		}
	}
	w.say("Go on with: bareclaw init")
}
