package telegram

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// A decidedByReply says which approval a message decides, so that it is not taken for
// something said to the agent should it be handled once more after a crash.
type decidedByReply struct {
	Approval string `json:"approval"`
}

// The words that decide by themselves. Any other text is a reason, or an answer.
var (
	yesWords    = []string{"yes", "y", "ok", "okay", "allow", "approve", "continue", "go on"}
	noWords     = []string{"no", "n", "deny", "drop"}
	alwaysWords = []string{"always"}
)

// repliedToApproval decides an approval by the text that somebody has written below
// it, and reports whether it did: what is written below a decided one is a message
// like any other.
func (a *Adapter) repliedToApproval(ctx context.Context, p chats.Address, r *arrival) bool {
	m := r.update.Message
	if m.ReplyToMessage == nil || m.Text == "" || m.ForwardOrigin != nil {
		return false
	}
	if a.said(ctx, commandNote(r.key)) {
		return true
	}
	var begun decidedByReply
	again, err := a.records.Get(ctx, records.Reply+r.key, &begun)
	if err != nil {
		a.o.Log.Error("telegram: not known whether a reply has decided", "err", err)
	}
	if !again {
		if begun.Approval = cmp.Or(a.approvalShownAs(ctx, p.Key(), m.ReplyToMessage.ID), approvalBelow(m.ReplyToMessage)); begun.Approval == "" {
			return false
		}
	}
	approval, err := a.o.Core.Approval(ctx, begun.Approval)
	if err != nil || !a.inChat(p, approval.Channel) || !again && (approval.State != core.ApprovalPending || !meant(&approval, m.Text)) {
		return false
	}
	if err := a.records.Put(ctx, records.Reply+r.key, begun); err != nil {
		a.o.Log.Error("telegram: a reply is not noted", "err", err)
	}
	text := a.decideByText(ctx, &approval, m, r.key)
	a.say(ctx, commandNote(r.key), p.Key(), Note{Text: literal(text), ReplyTo: m.ID})
	if err := a.records.Write(ctx, &core.Record{Owner: Name, Key: records.Reply + r.key}); err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: a reply's note is left", "err", err)
	}
	return true
}

// approvalShownAs returns the pending approval of the channel that a message shows;
// empty if there is none.
func (a *Adapter) approvalShownAs(ctx context.Context, key core.ChannelKey, message int) string {
	pending, err := a.o.Core.Approvals(ctx)
	if err != nil && ctx.Err() == nil {
		a.o.Log.Error("telegram: pending approvals not known", "err", err)
	}
	for i := range pending {
		if pending[i].Channel != key {
			continue
		}
		if sent, err := a.sentAs(ctx, core.ApprovalDelivery(pending[i].ID)); err == nil && slices.Contains(sent, message) {
			return pending[i].ID
		}
	}
	return ""
}

// approvalBelow returns the approval that the buttons of a message are about; empty if
// they are about something else. It finds what is not on record to be sent, since a
// gateway was killed meanwhile.
func approvalBelow(m *models.Message) string {
	if m.ReplyMarkup == nil {
		return ""
	}
	for _, row := range m.ReplyMarkup.InlineKeyboard {
		for _, b := range row {
			if verb, id, _ := strings.Cut(b.CallbackData, ":"); verb == "ok" || verb == "no" {
				return id
			}
		}
	}
	return ""
}

// meant reports whether a text below an approval decides it. Nothing waits for a turn
// that was cut, so that only a plain word does.
func meant(p *core.Approval, text string) bool {
	return p.Kind != core.ApprovalContinue || isWord(text, yesWords) || isWord(text, noWords)
}

func isWord(text string, words []string) bool {
	return slices.Contains(words, strings.ToLower(strings.Trim(text, " \n.!")))
}

// decideByText decides an approval as a text says, and returns what is so then.
func (a *Adapter) decideByText(ctx context.Context, p *core.Approval, m *models.Message, key string) string {
	if _, ok := core.Questions(*p); ok {
		text := a.answering(ctx, p.ID, m.From, key, func(_ []core.Question, s *answers) string {
			s.give(m.Text)
			return ""
		})
		if text == "" {
			text = "Noted. There is another question."
		}
		return text
	}
	d := core.Decision{By: nameOf(m.From)}
	switch {
	case isWord(m.Text, yesWords):
		d.Allow = true
	case isWord(m.Text, alwaysWords) && len(alwaysShown(p)) > 0:
		d.Allow, d.Always = true, true
	case isWord(m.Text, noWords):
	default:
		d.Message = m.Text
	}
	text, won := a.decide(ctx, p.ID, d)
	if won && d.Message != "" {
		return "Claude is told so."
	}
	return text
}
