package view

import (
	"encoding/json"
	"strings"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/toolinput"
	"bareclaw/internal/visible"
)

const (
	// maxRulesText is the longest text of rules that is offered, in UTF-16 units.
	maxRulesText = 1000
	// doneShown is the longest text of what an interrupted turn had done that is in the message
	// itself, in UTF-16 units.
	doneShown = 1000
	// labelShown bounds the text of a button: phones show a single line.
	labelShown = 60
	// ToastShown bounds the text shown after a tap, in characters:
	// https://core.telegram.org/bots/api#answercallbackquery
	ToastShown = 200
	// afterInput is the room for what a message says below the input of a tool, besides rules:
	// how to answer, or the outcome. In UTF-16 units.
	afterInput = 450
)

// A Request is an approval rendered for the chat.
type Request struct {
	Before  Attachment
	Text    markdown.Document // message to be edited when the approval changes
	Buttons [][]Button
}

// An Attachment is what a request is about and has no room for. It is sent before the request,
// and is empty for most. If it takes too many messages, the file has all of it.
type Attachment struct {
	Documents []markdown.Document
	FileName  string
	FileText  string
}

func decided(b *markdown.Builder, p *core.Approval) Request {
	return Request{Text: b.Bold(commands.Outcome(p)).Document()}
}

// Tool renders the request to use a tool. The whole input is shown: in the message, or before
// the message where a message has no room for the input.
func Tool(p *core.Approval) Request {
	var b markdown.Builder
	title := func() { b.Text("Claude asks to use ").Bold(visible.Line(p.Tool)) }
	title()
	b.Text("\n")
	showInput(&b, p.Tool, p.Input)
	if p.Why != "" {
		b.Text(visible.Line(p.Why) + "\n")
	}
	whole, rules := b.Document(), AlwaysRules(p)
	var before Attachment
	if !hasRoom(whole, rules) {
		before = Attachment{[]markdown.Document{whole}, "request.txt", whole.Text}
		b = markdown.Builder{}
		title()
		b.Text(". The whole request is above.\n")
	}
	b.Text("\n")
	if p.State != core.ApprovalPending {
		r := decided(&b, p)
		r.Before = before
		return r
	}
	rows := [][]Button{{{"Allow", "allow:" + p.ID}, {"Deny", "deny:" + p.ID}}}
	if len(rules) > 0 {
		label := "Always " + strings.Join(rules, ", ")
		if mdtext.Brief(label, labelShown) != label {
			b.Text("“Always” would allow, from now on in this chat:").Pre("", strings.Join(rules, "\n")).Text("\n")
			label = "Always (see above)"
		}
		rows = append(rows, []Button{{label, "rule:" + p.ID}})
	}
	b.Italic("Reply to this message to deny it and say why. Open until " + mdtext.Clock(p.ExpiresAt) + ".")
	return Request{Before: before, Text: b.Document(), Buttons: rows}
}

// hasRoom reports whether one message has room for a tool's input and all that may be said below
// the input. The answer depends on nothing that changes while the approval is open.
func hasRoom(input markdown.Document, rules []string) bool {
	room := markdown.MaxUnits - afterInput - markdown.Length(strings.Join(rules, "\n"))
	return markdown.Length(input.Text) <= room && len(input.Split(markdown.MaxUnits)) == 1
}

// AlwaysRules returns the rules added by “Always”; none if the rules cannot be shown whole and
// as they are, since nobody must allow a hidden rule.
func AlwaysRules(p *core.Approval) []string {
	rules := core.AlwaysRules(*p)
	if text := strings.Join(rules, "\n"); markdown.Length(text) > maxRulesText || markdown.Clean(visible.Code(text)) != text {
		return nil
	}
	return rules
}

// showInput renders the whole input of a tool: what people look for first, and then every other
// member by its name. An input without members is shown as JSON.
func showInput(b *markdown.Builder, tool string, raw json.RawMessage) {
	in := toolinput.Read(raw)
	if showKnown(b, tool, in) {
		for _, m := range in.Rest() {
			b.Text(m.String() + "\n")
		}
		return
	}
	in = toolinput.Read(raw) // also with what was looked for and taken
	if len(in.Rest()) == 0 {
		b.Pre("json", in.JSON())
	}
	for _, m := range in.Rest() {
		showMember(b, m)
	}
}

// showMember renders a member of the input of a tool that has no form of its own.
func showMember(b *markdown.Builder, m toolinput.Member) {
	text, isText := m.Text()
	switch {
	case !isText || strings.TrimSpace(text) == "":
		b.Text(m.String() + "\n")
	case strings.Contains(text, "\n"):
		b.Text(m.Label()+":").Pre("", visible.Code(text))
	default:
		b.Text(m.Label() + ": " + visible.Line(text) + "\n")
	}
}

// showKnown renders the members of an input that are shown without their names, and takes them
// from the input.
func showKnown(b *markdown.Builder, tool string, in *toolinput.Input) bool {
	switch tool {
	case "Bash":
		command, ok := in.Take("command")
		if !ok {
			return false
		}
		if description, ok := in.Take("description"); ok {
			b.Text(visible.Words(description) + "\n")
		}
		b.Pre("bash", visible.Code(command))
		return true
	case "Edit":
		file, isFile := in.Take("file_path")
		before, hasBefore := in.Take("old_string")
		after, hasAfter := in.Take("new_string")
		if isFile && hasBefore && hasAfter {
			b.Edit(file, before, after, markdown.Whole)
			return true
		}
	case "Write":
		file, isFile := in.Take("file_path")
		content, hasContent := in.Take("content")
		if isFile && hasContent {
			b.Write(file, content, markdown.Whole)
			return true
		}
	}
	return false
}

// Plan renders a plan with the request to carry out the plan.
func Plan(p *core.Approval) Request {
	in := toolinput.Read(p.Input)
	source, _ := in.Take("plan") // without a plan, the words above are the plan
	source = visible.Paragraphs(source)
	plan := markdown.RenderWhole(source)
	var b markdown.Builder
	for _, m := range in.Rest() {
		b.Text(m.String() + "\n")
	}
	more := b.Document()
	before := Attachment{[]markdown.Document{plan, more}, "plan.md", source + "\n\n" + more.Text}
	b = markdown.Builder{}
	if plan.Text == "" {
		b.Text("Claude has described a plan above.\n")
	} else {
		b.Text("This is Claude's plan.\n")
	}
	if p.State != core.ApprovalPending {
		r := decided(&b, p)
		r.Before = before
		return r
	}
	b.Text("Shall Claude carry it out? ").Italic("To change it, reply to this message. Open until " + mdtext.Clock(p.ExpiresAt) + ".")
	return Request{Before: before, Text: b.Document(), Buttons: [][]Button{{{"Approve", "allow:" + p.ID}, {"Revise", "change:" + p.ID}}}}
}

// Continue renders the request to continue an interrupted turn.
func Continue(p *core.Approval, m *core.Message) Request {
	var b markdown.Builder
	b.Text("Claude was cut off while working on: ").Italic(commands.Summary(m)).Text("\n")
	var before Attachment
	switch done := visible.Code(m.Reply.Done); {
	case markdown.Length(done) > doneShown:
		before = Attachment{[]markdown.Document{new(markdown.Builder).Text("Claude had started:").Pre("", done).Document()}, "started.txt", done}
		b.Text("What it had started is above.\n")
	case done != "":
		b.Text("It had started:").Pre("", done)
	}
	b.Text("\n")
	if p.State != core.ApprovalPending {
		r := decided(&b, p)
		r.Before = before
		return r
	}
	b.Text("Shall Claude continue? ").Italic("Open until " + mdtext.Clock(p.ExpiresAt) + ".")
	return Request{Before: before, Text: b.Document(), Buttons: [][]Button{{{"Continue", "allow:" + p.ID}, {"Drop", "deny:" + p.ID}}}}
}

// TooLate describes the earlier decision.
func TooLate(p *core.Approval) string {
	text := "Too late: " + commands.Outcome(p)
	if !p.DecidedAt.IsZero() {
		text += ", at " + mdtext.Clock(p.DecidedAt)
	}
	return text + "."
}
