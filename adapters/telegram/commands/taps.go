package commands

import (
	"context"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// ownChat restricts a button to the messages of the button's chat: the data of a tap can
// be forged.
func (o *Options) ownChat(do chats.Action) chats.Action {
	return func(ctx context.Context, t chats.Tap) string {
		if m, err := o.Core.Message(ctx, core.MessageID(t.Arg)); err == nil && !o.Moves.InChat(t.Address, m.Channel) {
			return chats.ButtonGone
		}
		return do(ctx, t)
	}
}

// Tapped handles and answers a tap of an allowed user.
func (h *Handler) Tapped(ctx context.Context, key string, q *models.CallbackQuery) {
	t := chats.Tap{Key: key, User: q.From}
	t.Verb, t.Arg, _ = strings.Cut(q.Data, ":")
	if m := q.Message.Message; m != nil {
		t.Address, t.Message = chats.AddressOf(m), m.ID
	} else if m := q.Message.InaccessibleMessage; m != nil {
		t.Address, t.Message, t.Stale = chats.Address{Chat: m.Chat.ID}, m.MessageID, true
	}
	t.Address = h.Moves.Present(t.Address)
	answer := chats.ButtonGone
	if do := h.actions[t.Verb]; do != nil {
		answer = do(ctx, t)
	}
	if h.Sender.Cooldowns.Left(outbox.Taps) > 0 {
		return // the action counts; a late answer is of no use
	}
	err := h.Sender.Call(func(ctx context.Context) error {
		_, err := h.Sender.Client.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{
			CallbackQueryID: q.ID, Text: view.Brief(answer, view.ToastShown),
		})
		return err
	})
	h.Sender.Cooldowns.Note(outbox.Taps, err)
	if err != nil && ctx.Err() == nil {
		h.Log.Debug("telegram: tap not answered", "err", err) // after a restart the tap may be too old
	}
}

// setting returns the action of a button that changes a setting and shows the new state
// in the button's message.
func (o *Options) setting(set func(context.Context, chats.Address, string) view.Note) chats.Action {
	return func(ctx context.Context, t chats.Tap) string {
		if t.Stale {
			return "This message is too old for its buttons. Send the command again."
		}
		o.edit(ctx, t, set(ctx, t.Address, t.Arg))
		return ""
	}
}

func (o *Options) edit(ctx context.Context, t chats.Tap, n view.Note) {
	o.Out.Edit(ctx, "edit:"+t.Key, t.Address.Key(), outbox.Edit{Message: t.Message, Note: n})
}
