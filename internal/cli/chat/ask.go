package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/term"
)

// A form collects the answer to an approval: yes or no, or the answers to several questions.
type form struct {
	approval  core.Approval
	always    []string // rules that "always" writes
	questions []core.Question
	at        int // index of the next question; the number of questions once all are answered
	answers   map[string]string
}

func newForm(a core.Approval) *form {
	f := &form{approval: a, always: core.AlwaysRules(a), answers: map[string]string{}}
	f.questions, _ = core.Questions(a)
	return f
}

// Whole returns the complete text for the decision about a tool, with unescaped control
// characters.
func Whole(tool string, input json.RawMessage) string {
	f := newForm(core.Approval{Tool: tool, Input: input})
	parts := []string{f.show()}
	for f.at++; f.at < len(f.questions); f.at++ {
		parts = append(parts, f.show())
	}
	return strings.Join(parts, "\n\n")
}

// show returns the complete question: people should see everything they allow.
func (f *form) show() string {
	a := f.approval
	switch {
	case f.cut():
		return "A turn was cut in the middle of its work."
	case len(f.questions) > 0:
		return f.question().show()
	case a.Tool == core.ToolExitPlan:
		return plan(a.Input) + "\n\nCarry out this plan?"
	}
	return "Allow " + term.SafeLine(a.Tool) + "?\n" + indent(input(a))
}

func (f *form) keys() string {
	a := f.approval
	switch {
	case f.cut():
		return "[c] continue it   [d] drop it"
	case f.answered():
		return "answered"
	case len(f.questions) > 0 && f.question().MultiSelect:
		return "numbers with commas between them, or words of your own, then Enter"
	case len(f.questions) > 0:
		return "a number, or words of your own, then Enter"
	case a.Tool == core.ToolExitPlan:
		return "[y] yes   [n] no, or write what to change"
	}
	keys := "[y] allow   [n] deny, or write why not"
	if len(f.always) > 0 {
		keys += "   [a] always " + term.SafeLine(strings.Join(f.always, ", "))
	}
	return keys
}

func (f *form) cut() bool { return f.approval.Kind == core.ApprovalContinue }

func (f *form) answered() bool { return len(f.questions) > 0 && f.at == len(f.questions) }

func (f *form) question() question { return question(f.questions[f.at]) }

// A question takes numbers or words as an answer.
type question core.Question

func (q question) show() string {
	var b strings.Builder
	b.WriteString(q.Question)
	for i, o := range q.Options {
		fmt.Fprintf(&b, "\n[%d] %s", i+1, term.SafeLine(o.Label))
		if o.Description != "" {
			b.WriteString(": " + term.SafeLine(o.Description))
		}
	}
	return b.String()
}

func (q question) chosen(words string) []string {
	parts := []string{words}
	if q.MultiSelect {
		parts = strings.Split(words, ",")
	}
	var all []string
	for _, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(q.Options) {
			return []string{words}
		}
		if label := q.Options[n-1].Label; !slices.Contains(all, label) {
			all = append(all, label)
		}
	}
	return all
}

func (f *form) key(key string) (api.Decision, bool) {
	switch {
	case len(f.questions) > 0:
	case f.cut() && key == "c":
		return api.Decision{Behavior: api.Continue}, true
	case f.cut() && key == "d":
		return api.Decision{Behavior: api.Drop}, true
	case f.cut():
	case key == "y":
		return api.Decision{Behavior: api.Allow}, true
	case key == "a" && len(f.always) > 0:
		return api.Decision{Behavior: api.Allow, Always: true}, true
	case key == "n":
		return api.Decision{Behavior: api.Deny}, true
	}
	return api.Decision{}, false
}

// words returns the decision of a person's words. Questions are decided with the last
// answer.
func (f *form) words(words string) (api.Decision, bool) {
	switch {
	case f.cut():
		return api.Decision{}, false
	case len(f.questions) == 0:
		return api.Decision{Behavior: api.Deny, Message: words}, true
	}
	q := f.question()
	f.answers[q.Question] = strings.Join(q.chosen(words), ", ")
	if f.at++; f.at < len(f.questions) {
		return api.Decision{}, false
	}
	return api.Decision{Behavior: api.Allow, Answers: f.answers}, true
}

func input(a core.Approval) string {
	var fields map[string]any
	if json.Unmarshal(a.Input, &fields) != nil || len(fields) == 0 {
		return string(a.Input)
	}
	var b strings.Builder
	if command, isText := fields["command"].(string); isText && a.Tool == "Bash" {
		b.WriteString(command + "\n")
		delete(fields, "command")
		delete(fields, "description") // claude's description of the command
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text, isText := fields[name].(string)
		if !isText {
			j, err := json.Marshal(fields[name])
			if err != nil {
				continue // cannot happen: the value was decoded from JSON
			}
			text = string(j)
		}
		fmt.Fprintf(&b, "%s: %s\n", name, text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func plan(raw json.RawMessage) string {
	var in struct{ Plan string }
	if json.Unmarshal(raw, &in) != nil || in.Plan == "" {
		return "Claude has a plan."
	}
	return in.Plan
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
