package commands

import (
	"context"
	"errors"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// An action handles a tap, and returns the text to show to the user.
type action func(context.Context, chats.Tap) string

// action returns the action of the buttons with a verb; nil for an unknown verb.
func (h *Handler) action(verb string) action {
	a := h.o.Approvals
	switch verb {
	case "ok":
		return a.OwnChat(a.Allow)
	case "always":
		return a.OwnChat(a.Always)
	case "no":
		return a.OwnChat(a.Deny)
	case "all":
		return a.OwnChat(a.ShowAll)
	case "revise":
		return a.OwnChat(a.Revise)
	case "q":
		return a.OwnChat(a.Option)
	case "drop":
		return h.ownChat(h.tapDrop)
	case "now":
		return h.ownChat(h.tapRunNow)
	case "model":
		return h.setting(h.settings.setModel)
	case "mode":
		return h.setting(h.settings.tapMode)
	case "verbose":
		return h.setting(h.settings.setVerbose)
	case "unrule":
		return h.tapRemoveRule
	case "stop":
		return h.tapStop
	case "edit":
		return h.o.RunEdited
	}
	return nil
}

// ownChat restricts a button to the messages of the button's chat: the data of a tap can
// be forged.
func (h *Handler) ownChat(do action) action {
	return func(ctx context.Context, t chats.Tap) string {
		if m, err := h.o.Core.Message(ctx, core.MessageID(t.Arg)); err == nil && !h.o.Moves.InChat(t.Address, m.Channel) {
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
	t.Address = h.o.Moves.Present(t.Address)
	answer := chats.ButtonGone
	if do := h.action(t.Verb); do != nil {
		answer = do(ctx, t)
	}
	if h.o.Sender.Cooldowns.Left(outbox.Taps) > 0 {
		return // the action counts; a late answer is of no use
	}
	err := h.o.Sender.Call(func(ctx context.Context) error {
		_, err := h.o.Sender.Client.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{
			CallbackQueryID: q.ID, Text: view.Brief(answer, view.ToastShown),
		})
		return err
	})
	h.o.Sender.Cooldowns.Note(outbox.Taps, err)
	if err != nil && ctx.Err() == nil {
		h.o.Log.Debug("telegram: tap not answered", "err", err) // after a restart the tap may be too old
	}
}

// setting returns the action of a button that changes a setting and shows the new state
// in the button's message.
func (h *Handler) setting(set func(context.Context, chats.Address, string) view.Note) action {
	return func(ctx context.Context, t chats.Tap) string {
		if t.Stale {
			return "This message is too old for its buttons. Send the command again."
		}
		h.edit(ctx, t, set(ctx, t.Address, t.Arg))
		return ""
	}
}

// edit shows a note in the tapped message.
func (h *Handler) edit(ctx context.Context, t chats.Tap, n view.Note) {
	h.o.Out.Edit(ctx, "edit:"+t.Key, t.Address.Key(), outbox.Edit{Message: t.Message, Note: n})
}

// queue lists the waiting messages.
func (h *Handler) queue(ctx context.Context, c Call) view.Note { return h.queueNote(ctx, c.Address) }

func (h *Handler) queueNote(ctx context.Context, to chats.Address) view.Note {
	st, err := h.o.Core.Present(ctx, to.Key())
	if err != nil {
		return h.o.failed(ctx, "read the state of the chat", err)
	}
	waiting, err := h.o.Core.Queue(ctx, to.Key())
	if err != nil {
		return h.o.failed(ctx, "read the queue", err)
	}
	return view.Queue(st, waiting)
}

// tapDrop removes a message from the queue.
func (h *Handler) tapDrop(ctx context.Context, t chats.Tap) string {
	m, err := h.o.Core.Cancel(ctx, core.MessageID(t.Arg))
	return h.queueTapped(ctx, t, m, err, "Dropped.")
}

// tapRunNow runs a message before the other messages, and stops the running turn. A tap
// interrupted by a crash is handled again, to complete the stop.
func (h *Handler) tapRunNow(ctx context.Context, t chats.Tap) string {
	id := core.MessageID(t.Arg)
	err := h.o.Core.RunNow(ctx, id)
	m := core.Message{}
	if errors.Is(err, core.ErrNotWaiting) {
		var failed error
		if m, failed = h.o.Core.Message(ctx, id); failed != nil {
			err = failed
		}
	}
	return h.queueTapped(ctx, t, m, err, "This message is next; what was running has been stopped.")
}

// queueTapped refreshes the list, and returns a text about the result of a tap.
func (h *Handler) queueTapped(ctx context.Context, t chats.Tap, m core.Message, err error, done string) string {
	switch {
	case errors.Is(err, core.ErrNotWaiting):
		done = "This message is no longer waiting: it is " + string(m.State) + "."
	case errors.Is(err, core.ErrNotFound):
		done = "This message is no longer known."
	case err != nil:
		return h.o.failed(ctx, "change the queue", err).Text
	}
	if !t.Stale {
		h.edit(ctx, t, h.queueNote(ctx, t.Address))
	}
	return done
}

// rules lists the rules of the chat.
func (h *Handler) rules(_ context.Context, c Call) view.Note { return h.rulesNote(c.Address) }

func (h *Handler) rulesNote(to chats.Address) view.Note {
	return view.Rules(h.o.Core.Settings(to.Key()).Rules)
}

// tapRemoveRule removes a rule and shows the remaining rules.
func (h *Handler) tapRemoveRule(ctx context.Context, t chats.Tap) string {
	if t.Stale {
		return "This message is too old for its buttons. Send /rules again."
	}
	answer := "Removed. Claude asks again from the next turn on."
	switch err := h.o.Core.RemoveRule(ctx, t.Address.Key(), t.Arg); {
	case errors.Is(err, core.ErrNotFound):
		answer = "This rule was already removed."
	case err != nil:
		return h.o.failed(ctx, "remove the rule", err).Text
	}
	h.edit(ctx, t, h.rulesNote(t.Address))
	return answer
}
