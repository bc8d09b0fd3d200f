package view

import (
	"cmp"
	"encoding/json"
	"strings"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
)

const (
	// InputShown is how much of a tool's input is part of the request, in UTF-16 units.
	InputShown = 1000
	// labelShown bounds the text of a button: phones show one line of it.
	labelShown = 60
	// ToastShown bounds the text that is shown after a tap, in characters:
	// https://core.telegram.org/bots/api#answercallbackquery
	ToastShown = 200
)

// A Request is an approval as the chat sees it.
type Request struct {
	Before  markdown.Document // sent first, if it has a text
	Text    markdown.Document // message that is edited when the approval changes
	Buttons [][]Button
}

// decided ends a request with what became of it.
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

// AlwaysRules returns the rules that “Always” would add; none if they are too long to be
// shown whole, since nobody must allow what is not shown.
func AlwaysRules(p *core.Approval) []string {
	rules := core.AlwaysRules(*p)
	if markdown.Length(strings.Join(rules, "\n")) > InputShown {
		return nil
	}
	return rules
}

// showInput renders the input of a tool, and reports whether it is shown whole.
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
		b.Add(markdown.Diff(in.FilePath, in.OldString, in.NewString))
		return false
	case tool == "Write" && in.FilePath != "":
		b.Add(markdown.Write(in.FilePath, in.Content))
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

// Plan renders a plan and asks whether Claude may carry it out.
func Plan(p *core.Approval) Request {
	var in struct{ Plan string }
	_ = json.Unmarshal(p.Input, &in) // without a plan there is none to show
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

// Continue asks whether Claude shall continue a turn that was cut off.
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

// Subject names what an approval is about.
func Subject(p *core.Approval) string {
	switch {
	case p.Kind == core.ApprovalContinue:
		return "Continuing"
	case p.Tool == core.ToolAskUser:
		return "Claude's question"
	case p.Tool == core.ToolExitPlan:
		return "The plan"
	}
	return p.Tool
}

// Outcome says what became of an approval, and who decided.
func Outcome(p *core.Approval) string {
	by := ""
	if p.DecidedBy != "" {
		by = " by " + Brief(p.DecidedBy, 60)
	}
	yes, no := verdicts(p)
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

func verdicts(p *core.Approval) (yes, no string) {
	switch {
	case p.Kind == core.ApprovalContinue:
		return "Continued", "Dropped"
	case p.Tool == core.ToolAskUser:
		return "Answered", "Not answered"
	case p.Tool == core.ToolExitPlan:
		return "Approved", "Sent back"
	}
	return "Allowed", "Denied"
}

// TooLate says what was decided before.
func TooLate(p *core.Approval) string {
	text := "Too late: " + Outcome(p)
	if !p.DecidedAt.IsZero() {
		text += ", at " + Clock(p.DecidedAt)
	}
	return text + "."
}
