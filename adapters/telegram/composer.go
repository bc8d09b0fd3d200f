package telegram

import (
	"context"
	"fmt"

	"bareclaw/adapters/telegram/approvals"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/live"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/progress"
)

// A composer makes the messages of a delivery. Its methods are safe for concurrent use.
type composer struct {
	env         *env.Env
	fileOver    int // an answer of more messages is sent as a file
	out         *outbox.Outbox
	approvals   *approvals.Handler
	pusher      *pusher
	stoppedText func(context.Context, *core.Message) (string, error)
}

// compose returns the parts of a delivery, see [outbox.Composer].
func (c *composer) compose(ctx context.Context, d core.Delivery) ([]outbox.Part, error) {
	switch d.Kind {
	case core.DeliverReply:
		return c.reply(ctx, d)
	case core.DeliverBackground:
		return outbox.Decoded(d, func(b core.BackgroundBody) ([]outbox.Part, error) { return c.answer(b.Text, 0, 0), nil })
	case core.DeliverApproval:
		return outbox.Decoded(d, func(b core.ApprovalBody) ([]outbox.Part, error) { return c.approvals.ComposeRequest(ctx, b) })
	case core.DeliverApprovalClosed:
		return outbox.Decoded(d, func(b core.ApprovalBody) ([]outbox.Part, error) { return c.approvals.ComposeEdit(ctx, b.ID, 0) })
	case approvals.KindInput:
		return outbox.Decoded(d, func(b core.ApprovalBody) ([]outbox.Part, error) { return c.approvals.ComposeInput(ctx, b) })
	case outbox.KindEdit:
		return outbox.Decoded(d, func(e outbox.Edit) ([]outbox.Part, error) { return c.edit(ctx, e) })
	case outbox.KindPush:
		return outbox.Decoded(d, func(b pushBody) ([]outbox.Part, error) { return c.pusher.compose(ctx, d.Channel, b) })
	case outbox.KindNote:
		return outbox.Decoded(d, func(n view.Note) ([]outbox.Part, error) { return outbox.NoteParts(n), nil })
	case live.KindInterim:
		return outbox.Decoded(d, func(i live.Interim) ([]outbox.Part, error) { return c.answer(i.Text, i.Edit, 0), nil })
	case live.KindChange:
		return outbox.Decoded(d, func(ch progress.Change) ([]outbox.Part, error) { return outbox.Parts(view.Change(ch)), nil })
	}
	return nil, fmt.Errorf("%w: unknown kind %q", outbox.ErrUndeliverable, d.Kind)
}

func (c *composer) answer(source string, replace, replyTo int) []outbox.Part {
	return outbox.AnswerParts(source, replace, replyTo, c.fileOver)
}

func (c *composer) reply(ctx context.Context, d core.Delivery) ([]outbox.Part, error) {
	m, err := c.env.Message(ctx, d.Message)
	if err != nil {
		return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
	}
	r := m.Reply
	if r.Coalesced { // and the message with the text is not delivered by this adapter
		carrier, err := c.env.Message(ctx, r.Into)
		if err != nil {
			return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
		}
		r.Text = carrier.Reply.Text
	}
	stopped, err := c.stoppedText(ctx, &m)
	if err != nil {
		return nil, err
	}
	if stopped != "" {
		r.Text = stopped
	}
	replace, replyTo := 0, 0
	if _, err := c.env.Records.Get(ctx, records.Adopted+d.ID, &replace); err != nil {
		return nil, err
	}
	if to, ok := chats.ParseAddress(d.Channel); ok && (to.Group() || r.State != core.Answered) {
		replyTo = c.env.Records.SourceOf(ctx, d.Message)
	}
	return c.answer(view.Reply(&r), replace, replyTo), nil
}

func (c *composer) edit(ctx context.Context, e outbox.Edit) (_ []outbox.Part, err error) {
	if e.Approval != "" {
		return c.approvals.ComposeEdit(ctx, e.Approval, e.Message)
	}
	if e.Of != "" {
		if e.Message, err = c.out.LastSent(ctx, e.Of); err != nil {
			return nil, err
		}
	}
	text := outbox.Text{Document: markdown.Render(e.Note.Text), Buttons: e.Note.Buttons}
	return []outbox.Part{&outbox.Change{Message: e.Message, Text: text, Delete: e.Remove}}, nil
}
