package telegram

import (
	"cmp"
	"context"
	"fmt"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
)

func (a *Adapter) composeBackground(_ context.Context, _ core.Delivery, b core.BackgroundBody) ([]outbox.Part, error) {
	return a.out.AnswerParts(b.Text, 0, 0), nil
}

func (a *Adapter) composeReply(ctx context.Context, d core.Delivery, _ struct{}) ([]outbox.Part, error) {
	m, err := a.env.Message(ctx, d.Message)
	if err != nil {
		return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
	}
	r := m.Reply
	if r.Coalesced { // and the message with the text is not delivered by this adapter
		carrier, err := a.env.Message(ctx, r.Into)
		if err != nil {
			return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
		}
		r.Text = carrier.Reply.Text
	}
	stopped, err := a.commands.StoppedText(ctx, &m)
	if err != nil {
		return nil, err
	}
	r.Text = cmp.Or(stopped, r.Text)
	replace, replyTo := 0, 0
	if _, err := a.env.Records.Get(ctx, env.RecordAdopted+d.ID, &replace); err != nil {
		return nil, err
	}
	if to, ok := chats.ParseAddress(d.Channel); ok && (to.Group() || r.State != core.Answered) {
		replyTo = a.env.Records.SourceOf(ctx, d.Message)
	}
	return a.out.AnswerParts(view.Reply(&r), replace, replyTo), nil
}
