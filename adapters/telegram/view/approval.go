package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
)

const (
	// InputShown is how much of a tool's input is part of the request, in UTF-16 units.
	InputShown = 1000
	// labelShown bounds the text of a button: phones show a single line.
	labelShown = 60
	// ToastShown bounds the text shown after a tap, in characters:
	// https://core.telegram.org/bots/api#answercallbackquery
	ToastShown = 200
)

// A Request is an approval rendered for the chat.
type Request struct {
	Before  markdown.Document // sent first, unless empty
	Text    markdown.Document // message to be edited when the approval changes
	Buttons [][]Button
}

func decided(b *markdown.Builder, p *core.Approval) Request {
	return Request{Text: b.Bold(Outcome(p)).Document()}
}

// Tool renders the request to use a tool.
func Tool(p *core.Approval) Request {
	var b markdown.Builder
	b.Text("Claude asks to use ").Bold(p.Tool).Text("\n")
	whole := showInput(&b, p.Tool, p.Input)
	b.Text("\n")
	if p.State != core.ApprovalPending {
		return decided(&b, p)
	}
	rows := [][]Button{{{"Allow", "ok:" + p.ID}, {"Deny", "no:" + p.ID}}}
	if rules := AlwaysRules(p); len(rules) > 0 {
		label := "Always " + strings.Join(rules, ", ")
		if Brief(label, labelShown) != label {
			b.Text("“Always” would allow, from now on in this chat:").Pre("", strings.Join(rules, "\n")).Text("\n")
			label = "Always (see above)"
		}
		rows = append(rows, []Button{{label, "always:" + p.ID}})
	}
	b.Italic("Reply to this message to deny it and say why. Open until " + Clock(p.ExpiresAt) + ".")
	if !whole {
		rows = append(rows, []Button{{"Show all", "all:" + p.ID}})
	}
	return Request{Text: b.Document(), Buttons: rows}
}

// AlwaysRules returns the rules added by “Always”; none if the rules are too long to be
// shown whole, since nobody must allow a hidden rule.
func AlwaysRules(p *core.Approval) []string {
	rules := core.AlwaysRules(*p)
	if markdown.Length(strings.Join(rules, "\n")) > InputShown {
		return nil
	}
	return rules
}

// showInput renders the input of a tool, and reports whether the whole input is shown.
func showInput(b *markdown.Builder, tool string, input json.RawMessage) (whole bool) {
	var in struct {
		Command     string
		Description string
		FilePath    string `json:"file_path"`
		OldString   string `json:"old_string"`
		NewString   string `json:"new_string"`
		Content     string
	}
	_ = json.Unmarshal(input, &in) // an unknown input is shown as JSON
	switch {
	case tool == "Bash" && in.Command != "":
		if in.Description != "" {
			b.Text(Brief(in.Description, 200) + "\n")
		}
		b.Pre("bash", markdown.Shorten(in.Command, InputShown))
		return markdown.Length(in.Command) <= InputShown
	case tool == "Edit" && in.FilePath != "":
		b.Edit(in.FilePath, in.OldString, in.NewString)
		return false
	case tool == "Write" && in.FilePath != "":
		b.Write(in.FilePath, in.Content)
		return false
	}
	text := Indented(input)
	b.Pre("json", markdown.Shorten(text, InputShown))
	return markdown.Length(text) <= InputShown
}

// Indented returns JSON indented for people.
func Indented(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) == nil {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if e.Encode(v) == nil {
			return strings.TrimSpace(b.String())
		}
	}
	return cmp.Or(string(raw), "{}")
}

// Plan renders a plan with the request to carry out the plan.
func Plan(p *core.Approval) Request {
	var in struct{ Plan string }
	_ = json.Unmarshal(p.Input, &in) // without a plan, nothing is left to show
	plan := markdown.Render(in.Plan)
	var b markdown.Builder
	if plan.Text == "" {
		b.Text("Claude has described a plan above.\n")
	} else {
		b.Text("This is Claude's plan.\n")
	}
	if p.State != core.ApprovalPending {
		r := decided(&b, p)
		r.Before = plan
		return r
	}
	b.Text("Shall Claude carry it out? ").Italic("To change it, reply to this message. Open until " + Clock(p.ExpiresAt) + ".")
	return Request{Before: plan, Text: b.Document(), Buttons: [][]Button{{{"Approve", "ok:" + p.ID}, {"Revise", "revise:" + p.ID}}}}
}

// Continue renders the request to continue an interrupted turn.
func Continue(p *core.Approval, m *core.Message) Request {
	var b markdown.Builder
	b.Text("Claude was cut off while working on: ").Italic(Summary(m)).Text("\n")
	if m.Reply.Done != "" {
		b.Text("It had started:").Pre("", markdown.Shorten(m.Reply.Done, InputShown))
	}
	b.Text("\n")
	if p.State != core.ApprovalPending {
		return decided(&b, p)
	}
	b.Text("Shall Claude continue? ").Italic("Open until " + Clock(p.ExpiresAt) + ".")
	return Request{Text: b.Document(), Buttons: [][]Button{{{"Continue", "ok:" + p.ID}, {"Drop", "no:" + p.ID}}}}
}

// words returns the subject of an approval, and the outcomes.
func words(p *core.Approval) (subject, yes, no string) {
	switch {
	case p.Kind == core.ApprovalContinue:
		return "Continuing", "Continued", "Dropped"
	case p.Tool == core.ToolAskUser:
		return "Claude's question", "Answered", "Not answered"
	case p.Tool == core.ToolExitPlan:
		return "The plan", "Approved", "Sent back"
	}
	return p.Tool, "Allowed", "Denied"
}

// Outcome describes the outcome of an approval, and names the person who decided.
func Outcome(p *core.Approval) string {
	by := ""
	if p.DecidedBy != "" {
		by = " by " + Brief(p.DecidedBy, 60)
	}
	_, yes, no := words(p)
	switch p.State {
	case core.ApprovalAllowed:
		return yes + by
	case core.ApprovalDenied:
		if p.Reason == "" || p.Kind == core.ApprovalContinue {
			return no + by
		}
		return no + by + ": " + Brief(p.Reason, 300)
	case core.ApprovalExpired:
		return "Expired: nobody answered in time"
	case core.ApprovalVoid:
		if p.Kind == core.ApprovalContinue {
			return "The conversation was reset"
		}
		return "The turn ended before this was answered"
	case core.ApprovalPending:
	}
	return "Waiting for an answer"
}

// TooLate describes the earlier decision.
func TooLate(p *core.Approval) string {
	text := "Too late: " + Outcome(p)
	if !p.DecidedAt.IsZero() {
		text += ", at " + Clock(p.DecidedAt)
	}
	return text + "."
}

// Answers are the answers to the questions of one approval, in the order of the
// questions.
type Answers struct {
	Given  [][]string `json:"given"`            // final answers
	Picked []int      `json:"picked,omitempty"` // options picked until now of an open multiple choice
	Last   string     `json:"last,omitempty"`   // source key of the last change, to be made only once
}

// Open returns the index of the first unanswered question.
func (a *Answers) Open() int { return len(a.Given) }

// Give answers the open question.
func (a *Answers) Give(texts ...string) { a.Given, a.Picked = append(a.Given, texts), nil }

// Toggle picks or unpicks an option of the open question.
func (a *Answers) Toggle(option int) {
	if i := slices.Index(a.Picked, option); i >= 0 {
		a.Picked = slices.Delete(a.Picked, i, i+1)
		return
	}
	a.Picked = append(a.Picked, option)
	slices.Sort(a.Picked)
}

// ByQuestion returns the answers by the text of their question.
func (a *Answers) ByQuestion(questions []core.Question) map[string][]string {
	all := map[string][]string{}
	for i, given := range a.Given[:min(len(a.Given), len(questions))] {
		all[questions[i].Question] = given
	}
	return all
}

// Questions renders the open question, below the answered questions.
func Questions(p *core.Approval, questions []core.Question, a Answers) Request {
	var b markdown.Builder
	for i, given := range a.Given[:min(len(a.Given), len(questions))] {
		b.Text("✓ " + Brief(questions[i].Question, 200) + " ").Bold(Brief(strings.Join(given, ", "), 200)).Text("\n")
	}
	if p.State != core.ApprovalPending {
		if len(a.Given) == 0 {
			b.Text(Brief(questions[0].Question, 500) + "\n")
		}
		return decided(b.Text("\n"), p)
	}
	n := a.Open()
	if n >= len(questions) {
		return Request{Text: b.Text("\n").Italic("Answering…").Document()}
	}
	q := questions[n]
	title := "Claude asks"
	if len(questions) > 1 {
		title += fmt.Sprintf(" (%d of %d)", n+1, len(questions))
	}
	if len(a.Given) > 0 {
		b.Text("\n")
	}
	b.Bold(title).Text("\n" + markdown.Shorten(q.Question, 1000) + "\n")
	for _, o := range q.Options {
		b.Text("\n• ").Bold(Brief(o.Label, 100))
		if o.Description != "" {
			b.Text(" – " + Brief(o.Description, 300))
		}
	}
	b.Text("\n\n").Italic("Or reply to this message with your own words. Open until " + Clock(p.ExpiresAt) + ".")
	return Request{Text: b.Document(), Buttons: optionButtons(p.ID, n, q, a)}
}

// optionButtons returns a button for each option. The data of the buttons name the
// question, since a late tap must not answer another question.
func optionButtons(id string, n int, q core.Question, a Answers) [][]Button {
	var rows [][]Button
	for i, o := range q.Options {
		label := Brief(o.Label, labelShown)
		if q.MultiSelect {
			box := "☐ "
			if slices.Contains(a.Picked, i) {
				box = "☑ "
			}
			label = box + label
		}
		rows = append(rows, []Button{{label, fmt.Sprintf("q:%s:%d:%d", id, n, i)}})
	}
	var last []Button
	if q.MultiSelect {
		last = append(last, Button{"Done", fmt.Sprintf("q:%s:%d:done", id, n)})
	}
	return append(rows, append(last, Button{"Other…", fmt.Sprintf("q:%s:%d:other", id, n)}, Button{"No answer", "no:" + id}))
}
