package telegram

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"
)

// composeReply makes the parts of a message's outcome.
func (a *Adapter) composeReply(ctx context.Context, d core.Delivery) ([]part, error) {
	m, err := a.o.Core.Message(ctx, d.Message)
	if err != nil {
		return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
	}
	r := m.Reply
	if r.Coalesced { // and the one that carries the text is not delivered here
		carrier, err := a.o.Core.Message(ctx, r.Into)
		if err != nil {
			return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
		}
		r.Text = carrier.Reply.Text
	}
	switch stopped, err := a.stoppedText(ctx, &m); {
	case err != nil:
		return nil, err
	case stopped != "":
		r.Text = stopped
	}
	edit, err := a.adopted(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	replyTo := 0
	if p, ok := chats.ParseAddress(d.Channel); ok && (p.Group() || r.State != core.Answered) {
		replyTo = a.records.SourceOf(ctx, d.Message)
	}
	return a.answerParts(replyText(&r), edit, replyTo), nil
}

// replyText is an outcome in words, as Markdown.
func replyText(r *core.Reply) string {
	var sb strings.Builder
	for _, n := range r.Notices {
		sb.WriteString("> " + strings.ReplaceAll(n.Text, "\n", "\n> ") + "\n\n")
	}
	text := strings.TrimSpace(r.Text)
	switch r.State {
	case core.Failed:
		sb.WriteString("⚠️ ")
	case core.Cancelled:
		sb.WriteString("⏹ ")
	default:
		if text == "" {
			text = "*Claude ended this turn without a word.*"
		}
	}
	sb.WriteString(text)
	return sb.String()
}
