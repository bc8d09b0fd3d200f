package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

const (
	// inputShown is how much of a tool's input is in the question, in UTF-16 units.
	inputShown = 1000
	// labelShown bounds the text of a button, of which phones show one line.
	labelShown = 60
	// answerShown bounds what is shown after a tap, in characters:
	// https://core.telegram.org/bots/api#answercallbackquery
	answerShown = 200
)

// An asked is an approval as the chat sees it: what comes first, if anything, and the
// message that has the buttons and changes.
type asked struct {
	before  markdown.Document
	text    markdown.Document
	buttons [][]Button
}

// present returns what an approval looks like now.
func (a *Adapter) present(ctx context.Context, p *core.Approval) (asked, error) {
	switch {
	case p.Kind == core.ApprovalContinue:
		return a.presentContinue(ctx, p)
	case p.Tool == core.ToolExitPlan:
		return presentPlan(p), nil
	}
	if questions, ok := core.Questions(*p); ok {
		s, err := a.answersTo(ctx, p.ID)
		return presentQuestions(p, questions, s), err
	}
	return presentTool(p), nil
}

// composeApproval makes the parts of a delivery that asks about an approval.
func (a *Adapter) composeApproval(ctx context.Context, d core.Delivery) ([]part, error) {
	p, err := a.approvalOf(ctx, d)
	if err != nil {
		return nil, err
	}
	look, err := a.present(ctx, &p)
	if err != nil {
		return nil, err
	}
	var parts []part
	if look.before.Text != "" {
		parts = documentParts(look.before)
	}
	ask := documentParts(look.text)[0].(*textPart) // always one, which is changed later
	ask.buttons = look.buttons
	return append(parts, ask), nil
}

// composeApprovalClosed makes the part that shows what became of an approval.
func (a *Adapter) composeApprovalClosed(ctx context.Context, d core.Delivery) ([]part, error) {
	p, err := a.approvalOf(ctx, d)
	if err != nil {
		return nil, err
	}
	return a.composeApprovalEdit(ctx, p.ID, 0)
}

// composeApprovalEdit makes the part that shows an approval as it is now: in a message,
// or for 0 where it is asked.
func (a *Adapter) composeApprovalEdit(ctx context.Context, id string, message int) ([]part, error) {
	p, err := a.o.Core.Approval(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("show approval %s: %w", id, err)
	}
	look, err := a.present(ctx, &p)
	if err != nil {
		return nil, err
	}
	if message == 0 {
		sent, err := a.sentAs(ctx, core.ApprovalDelivery(id))
		if err != nil && !errors.Is(err, core.ErrNotFound) { // else it was asked before there was anybody to deliver it
			return nil, err
		}
		message = last(sent)
	}
	return []part{&editPart{message: message, document: look.text, buttons: look.buttons}}, nil
}

// showTapped shows an approval as it is now in the message that was tapped, if that is
// another one than where it is asked: a gateway that was killed may have asked twice.
func (a *Adapter) showTapped(ctx context.Context, t tap, approval string) {
	sent, err := a.sentAs(ctx, core.ApprovalDelivery(approval))
	if err != nil || slices.Contains(sent, t.message) {
		return
	}
	a.change(ctx, "edit:"+t.key+":tapped", t.place.Key(), edit{Message: t.message, Approval: approval})
}

func (a *Adapter) approvalOf(ctx context.Context, d core.Delivery) (core.Approval, error) {
	var body core.ApprovalBody
	if err := json.Unmarshal(d.Body, &body); err != nil {
		return core.Approval{}, fmt.Errorf("%w: %w", errCannotCompose, err)
	}
	p, err := a.o.Core.Approval(ctx, body.ID)
	if err != nil {
		return p, fmt.Errorf("show approval %s: %w", body.ID, err)
	}
	return p, nil
}

// askAgain has those approvals delivered that are pending and have no delivery, as
// of a gateway that had no Telegram when they were asked.
func (a *Adapter) askAgain(ctx context.Context) {
	pending, err := a.o.Core.Approvals(ctx)
	if err != nil && ctx.Err() == nil {
		a.o.Log.Error("telegram: pending approvals not known", "err", err)
	}
	for i := range pending {
		p := &pending[i]
		if _, ok := chats.ParseAddress(p.Channel); !ok {
			continue
		}
		a.aboutApproval(ctx, core.DeliverApproval, p)
	}
}

// aboutApproval records a delivery about an approval, unless there is one.
func (a *Adapter) aboutApproval(ctx context.Context, kind core.DeliveryKind, p *core.Approval) {
	body, err := json.Marshal(core.ApprovalBody{ID: p.ID})
	if err == nil {
		err = a.o.Core.Deliver(ctx, &core.Delivery{
			ID: string(kind) + ":" + p.ID, Kind: kind, Adapter: Name, Channel: p.Channel, Message: p.Message, Body: body,
		})
	}
	if err != nil && ctx.Err() == nil {
		a.o.Log.Error("telegram: approval not delivered", "approval", p.ID, "err", err)
	}
}

// presentTool asks for, or tells of, the permission for a tool.
func presentTool(p *core.Approval) asked {
	var b markdown.Builder
	b.Text("Claude asks to use ").Bold(p.Tool).Text("\n")
	full := showInput(&b, p.Tool, p.Input)
	if p.State != core.ApprovalPending {
		b.Text("\n").Bold(decidedText(p))
		return asked{text: b.Document()}
	}
	rows := [][]Button{{{"Allow", "ok:" + p.ID}, {"Deny", "no:" + p.ID}}}
	if rules := alwaysShown(p); len(rules) > 0 {
		label := "Always " + strings.Join(rules, ", ")
		if brief(label, labelShown) != label {
			b.Text("\n").Text("“Always” would allow, from now on in this chat:").Pre("", strings.Join(rules, "\n"))
			label = "Always (see above)"
		}
		rows = append(rows, []Button{{label, "always:" + p.ID}})
	}
	b.Text("\n").Italic("Reply with a text to deny it and say why. Until " + clock(p.ExpiresAt) + ".")
	if !full {
		rows = append(rows, []Button{{"Show all", "all:" + p.ID}})
	}
	return asked{text: b.Document(), buttons: rows}
}

// alwaysShown returns the rules that “Always” would write; none if they are too long to be
// shown whole, since what is allowed for ever must be seen.
func alwaysShown(p *core.Approval) []string {
	rules := core.AlwaysRules(*p)
	if markdown.Length(strings.Join(rules, "\n")) > inputShown {
		return nil
	}
	return rules
}

// showInput shows a tool's input, shortened, and reports whether that is all of it.
func showInput(b *markdown.Builder, tool string, input json.RawMessage) (full bool) {
	var in struct {
		Command     string
		Description string
		FilePath    string `json:"file_path"`
		OldString   string `json:"old_string"`
		NewString   string `json:"new_string"`
		Content     string
	}
	_ = json.Unmarshal(input, &in) // what cannot be read is shown as it is
	switch {
	case tool == "Bash" && in.Command != "":
		if in.Description != "" {
			b.Text(brief(in.Description, 200) + "\n")
		}
		b.Pre("bash", markdown.Shorten(in.Command, inputShown))
		return markdown.Length(in.Command) <= inputShown
	case tool == "Edit" && in.FilePath != "":
		b.Add(markdown.Diff(in.FilePath, in.OldString, in.NewString))
		return false
	case tool == "Write" && in.FilePath != "":
		b.Add(markdown.Write(in.FilePath, in.Content))
		return false
	}
	text := indented(input)
	b.Pre("json", markdown.Shorten(text, inputShown))
	return markdown.Length(text) <= inputShown
}

// indented returns JSON as people read it.
func indented(raw json.RawMessage) string {
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

// subject names what an approval is about.
func subject(p *core.Approval) string {
	switch {
	case p.Kind == core.ApprovalContinue:
		return "Whether to go on"
	case p.Tool == core.ToolAskUser:
		return "Claude's question"
	case p.Tool == core.ToolExitPlan:
		return "The plan"
	}
	return p.Tool
}

// decidedText says what became of an approval, and by whom.
func decidedText(p *core.Approval) string {
	by := ""
	if p.DecidedBy != "" {
		by = " by " + brief(p.DecidedBy, 60)
	}
	yes, no := verdicts(p)
	switch p.State {
	case core.ApprovalAllowed:
		return yes + by
	case core.ApprovalDenied:
		if p.Reason == "" || p.Kind == core.ApprovalContinue {
			return no + by
		}
		return no + by + ": " + brief(p.Reason, 300)
	case core.ApprovalExpired:
		return "Expired: nobody answered in time"
	case core.ApprovalVoid:
		if p.Kind == core.ApprovalContinue {
			return "The conversation was forgotten"
		}
		return "The turn ended before it was answered"
	case core.ApprovalPending:
	}
	return "Waiting for an answer"
}

// verdicts are the words for what was decided.
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

// clock shows a time of today, or with its day.
func clock(t time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2 January 15:04")
}

// decide answers an approval and says what is so then. It reports whether the
// decision is the one that counts.
func (a *Adapter) decide(ctx context.Context, id string, d core.Decision) (text string, won bool) {
	p, err := a.o.Core.Decide(ctx, id, d)
	switch {
	case err == nil:
		return decidedText(&p) + ".", true
	case errors.Is(err, core.ErrNotFound):
		return "This request is not known any more.", false
	case errors.Is(err, core.ErrNotPending):
		if p.State == core.ApprovalPending { // its end is being recorded
			return "Too late: it is not waiting any more.", false
		}
		a.aboutApproval(ctx, core.DeliverApprovalClosed, &p) // nobody has said so of one whose time is over
		return late(&p), false
	}
	if ctx.Err() == nil {
		a.o.Log.Error("telegram: approval not decided", "approval", id, "err", err)
	}
	return "That did not work, try again: " + err.Error(), false
}

// late says what was decided before.
func late(p *core.Approval) string {
	text := "Too late: " + decidedText(p)
	if !p.DecidedAt.IsZero() {
		text += ", at " + clock(p.DecidedAt)
	}
	return text + "."
}

// tapDecision decides what is asked by a tap.
func (a *Adapter) tapDecision(ctx context.Context, t tap, d core.Decision) (text string, won bool) {
	d.By = nameOf(&t.user)
	text, won = a.decide(ctx, t.arg, d)
	a.showTapped(ctx, t, t.arg)
	return text, won
}

// tapAllow allows what is asked.
func (a *Adapter) tapAllow(ctx context.Context, t tap) string {
	text, _ := a.tapDecision(ctx, t, core.Decision{Allow: true})
	return text
}

// tapAlways allows it, and by a rule what is like it.
func (a *Adapter) tapAlways(ctx context.Context, t tap) string {
	text, won := a.tapDecision(ctx, t, core.Decision{Allow: true, Always: true})
	if won {
		text += " It is always allowed here from now on; /rules takes that back."
	}
	return text
}

// tapDeny denies what is asked.
func (a *Adapter) tapDeny(ctx context.Context, t tap) string {
	text, _ := a.tapDecision(ctx, t, core.Decision{})
	return text
}

// nameOf returns a person's name.
func nameOf(u *models.User) string {
	if u == nil {
		return ""
	}
	return strings.TrimSpace(u.FirstName + " " + u.LastName)
}
