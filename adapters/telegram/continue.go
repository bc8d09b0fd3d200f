package telegram

import (
	"context"
	"fmt"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
)

// presentContinue asks whether a turn that was cut is gone on with.
func (a *Adapter) presentContinue(ctx context.Context, p *core.Approval) (asked, error) {
	m, err := a.o.Core.Message(ctx, p.Message)
	if err != nil {
		return asked{}, fmt.Errorf("show what was cut: %w", err)
	}
	var b markdown.Builder
	b.Text("Claude was cut off in the middle of this: ").Italic(sayBrief(m)).Text("\n")
	if m.Reply.Done != "" {
		b.Text("It had begun:").Pre("", markdown.Shorten(m.Reply.Done, inputShown))
	}
	if p.State != core.ApprovalPending {
		b.Text("\n").Bold(decidedText(p))
		return asked{text: b.Document()}, nil
	}
	b.Text("\nShall it go on from there? ").Italic("Until " + clock(p.ExpiresAt) + ".")
	return asked{text: b.Document(), buttons: [][]Button{{{"Continue", "ok:" + p.ID}, {"Drop", "no:" + p.ID}}}}, nil
}
