package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/toolinput"
	"bareclaw/internal/visible"
)

// A form collects the answer to an approval: yes or no, or the answers to several questions.
type form struct {
	approval  core.Approval
	always    []string // rules that "always" writes
	questions []core.Question
	at        int // index of the next question; the number of questions once all are answered
	answers   map[string]string
	problem   string // why the last words answered nothing
}

func newForm(a core.Approval) *form {
	f := &form{approval: a, always: core.AlwaysRules(a), answers: map[string]string{}}
	f.questions, _ = core.Questions(a)
	return f
}

// Whole returns the complete text for the decision about a tool, with escapes for the characters
// without a glyph.
func Whole(a core.Approval) string {
	f := newForm(a)
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
	shown := "Allow " + visible.Line(a.Tool) + "?\n" + indent(input(a.Tool, a.Input))
	if a.Why != "" {
		shown += "\n" + visible.Line(a.Why)
	}
	return shown
}

// ask returns the complete question, with the rules that have no room beside the keys.
func (f *form) ask() string {
	if f.problem != "" {
		return f.problem + "\n" + f.show()
	}
	if f.hasRoom() {
		return f.show()
	}
	return f.show() + "\n[a] would always allow on this channel:\n" + indent(visible.Code(strings.Join(f.always, "\n")))
}

// hasRoom reports whether the rules fit beside the keys, which stay on the screen.
func (f *form) hasRoom() bool { return len(strings.Join(f.always, ", ")) <= maxBesideKeys }

// maxBesideKeys is the longest text of rules beside the keys, in bytes.
const maxBesideKeys = 60

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
	switch {
	case len(f.always) > 0 && f.hasRoom():
		keys += "   [a] always " + visible.Line(strings.Join(f.always, ", "))
	case len(f.always) > 0:
		keys += "   [a] always, as shown above"
	}
	return keys
}

func (f *form) cut() bool { return f.approval.Kind == core.ApprovalContinue }

func (f *form) answered() bool { return len(f.questions) > 0 && f.at == len(f.questions) }

func (f *form) question() question { return question(f.questions[f.at]) }

// A question is shown with numbers, which are answers.
type question core.Question

func (q question) show() string {
	var b strings.Builder
	b.WriteString(visible.Paragraphs(q.Question))
	for i, o := range q.Options {
		fmt.Fprintf(&b, "\n[%d] %s", i+1, visible.Words(o.Label))
		if o.Description != "" {
			b.WriteString(": " + visible.Words(o.Description))
		}
		if o.Preview != "" {
			b.WriteString("\n" + indent(visible.Code(o.Preview)))
		}
	}
	return b.String()
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
// answer; a number of no option is asked for again.
func (f *form) words(words string) (api.Decision, bool) {
	switch {
	case f.cut():
		return api.Decision{}, false
	case len(f.questions) == 0:
		return api.Decision{Behavior: api.Deny, Message: words}, true
	}
	q := f.questions[f.at]
	chosen, err := q.Chosen(words)
	if f.problem = ""; err != nil {
		f.problem = err.Error()
		return api.Decision{}, false
	}
	f.answers[q.Question] = strings.Join(chosen, ", ")
	if f.at++; f.at < len(f.questions) {
		return api.Decision{}, false
	}
	return api.Decision{Behavior: api.Allow, Answers: f.answers}, true
}

// input returns the whole input of a tool: the command of Bash, and every other member by its
// name. The lines of a longer text are indented, so that none of them looks like a member.
func input(tool string, raw json.RawMessage) string {
	in := toolinput.Read(raw)
	var lines []string
	if tool == "Bash" {
		if command, ok := in.Take("command"); ok {
			lines = append(lines, visible.Code(command))
		}
	}
	for _, m := range in.Rest() {
		lines = append(lines, member(m))
	}
	if len(lines) == 0 {
		return in.JSON()
	}
	return strings.Join(lines, "\n")
}

func member(m toolinput.Member) string {
	text, ok := m.Text()
	switch {
	case !ok:
		return m.String()
	case strings.Contains(text, "\n"):
		return m.Label() + ":\n" + indent(strings.TrimSuffix(visible.Code(text), "\n"))
	}
	return m.Label() + ": " + visible.Code(text)
}

func plan(raw json.RawMessage) string {
	in := toolinput.Read(raw)
	parts := []string{"Claude has a plan."}
	if text, ok := in.Take("plan"); ok && text != "" {
		parts[0] = visible.Paragraphs(text)
	}
	for _, m := range in.Rest() {
		parts = append(parts, member(m))
	}
	return strings.Join(parts, "\n")
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
