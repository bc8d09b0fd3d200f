package telegram

import (
	"context"
	"encoding/json"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
)

// presentPlan shows a plan, and asks whether it is to be carried out.
func presentPlan(p *core.Approval) asked {
	var in struct{ Plan string }
	_ = json.Unmarshal(p.Input, &in) // then there is none to show
	look := asked{before: markdown.Render(in.Plan)}
	var b markdown.Builder
	if look.before.Text == "" {
		b.Text("Claude has a plan, which is in what it has said.\n")
	} else {
		b.Text("This is Claude's plan.\n")
	}
	if p.State != core.ApprovalPending {
		b.Bold(decidedText(p))
		look.text = b.Document()
		return look
	}
	b.Text("Shall Claude carry it out? ").Italic("To have it changed, reply to this message. Until " + clock(p.ExpiresAt) + ".")
	look.text = b.Document()
	look.buttons = [][]Button{{{"Approve", "ok:" + p.ID}, {"Revise", "revise:" + p.ID}}}
	return look
}

// tapRevise says how a plan is sent back: that takes words.
func (a *Adapter) tapRevise(ctx context.Context, t tap) string {
	p, err := a.o.Core.Approval(ctx, t.arg)
	switch {
	case err != nil:
		return "This request is not known any more."
	case p.State != core.ApprovalPending:
		return late(&p)
	}
	return "Reply to this message and write what is to change."
}
