package commands

import (
	"context"
	"maps"
	"strings"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/shortid"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// buttons returns the actions of the buttons that call no command, by their verb.
func (h *Handler) buttons() map[string]chats.Action {
	actions := map[string]chats.Action{
		"stop":         h.tapStop,
		"edit":         h.RunEdited,
		view.RetryVerb: h.ownChat(h.retry),
		view.RenewVerb: h.ownChat(h.renew),
	}
	maps.Copy(actions, h.Approvals.Actions())
	return actions
}

// formerVerbs are the commands that buttons of earlier versions call, by their verb. The argument
// of the button follows.
var formerVerbs = map[string]string{
	"drop":    "/queue drop ",
	"now":     "/queue now ",
	"unrule":  "/rules remove ",
	"model":   "/model ",
	"mode":    "/mode ",
	"verbose": "/verbose ",
}

// formerConfirmation is the data of an earlier version's button that confirms a permission mode.
const formerConfirmation = "mode:sure"

// called returns the command that the data of a button call; empty: none.
func called(data string) string {
	if strings.HasPrefix(data, "/") {
		return data
	}
	if data == formerConfirmation {
		return "/mode bypassPermissions confirmed"
	}
	verb, arg, _ := strings.Cut(data, ":")
	if command := formerVerbs[verb]; command != "" {
		return command + arg
	}
	return ""
}

// ownChat restricts a button to the messages of the button's chat: the data of a tap can
// be forged.
func (o *Options) ownChat(do chats.Action) chats.Action {
	return func(ctx context.Context, t chats.Tap) string {
		if m, err := o.Messages.Message(ctx, core.MessageID(t.Arg)); err == nil && !o.Moves.InChat(t.Address, m.Channel) {
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
	if command := called(q.Data); command != "" {
		answer = h.choose(ctx, t, command)
	} else if do := h.actions[t.Verb]; do != nil {
		answer = do(ctx, t)
	}
	if h.Sender.Cooldowns.Left(outbox.Taps) > 0 {
		return // the action counts; a late answer is of no use
	}
	err := h.Sender.Call(botapi.CallTimeout, func(ctx context.Context) error {
		_, err := h.Sender.Client.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{
			CallbackQueryID: q.ID,
			Text:            mdtext.Brief(answer, view.ToastShown),
		})
		return err
	})
	h.Sender.Cooldowns.Note(outbox.Taps, err)
	if err != nil && ctx.Err() == nil {
		h.Log.Debug("telegram: tap not answered", "err", err) // after a restart the tap may be too old
	}
}

// choose carries out the command of a button, shows its note in the place of the button's message,
// and returns what the command has done. A tap interrupted by a crash is handled again.
func (h *Handler) choose(ctx context.Context, t chats.Tap, command string) string {
	name, arg, _ := commands.Parse(command)
	row, ok := h.find(name)
	if !ok || row.Show == nil && row.Run == nil {
		return chats.ButtonGone
	}
	call := commands.Call{Channel: t.Address.Key(), Person: chats.FullName(&t.User), Arg: arg}
	m, err := h.meant(ctx, arg)
	switch {
	case err == nil && !h.Moves.InChat(t.Address, m.Channel): // the data of a tap can be forged
		return chats.ButtonGone
	case err == nil:
		call.Channel = m.Channel
	case t.Stale:
		return "This message is too old for its buttons. Send /" + name + " again."
	}
	n, err := row.Answer(ctx, call)
	if err != nil {
		return h.failed(ctx, err)
	}
	if n.Text != "" && !t.Stale {
		h.edit(ctx, t, view.NoteOf(n.Text, &n))
	}
	return n.Done
}

// meant returns the message that the last word of an argument names.
func (h *Handler) meant(ctx context.Context, arg string) (core.Message, error) {
	id := arg[strings.LastIndexByte(arg, ' ')+1:]
	if len(id) < shortid.Full {
		return core.Message{}, core.ErrNotFound
	}
	return h.Messages.Message(ctx, core.MessageID(id))
}

func (h *Handler) edit(ctx context.Context, t chats.Tap, n view.Note) {
	h.Out.Edit(ctx, "edit:"+t.Key, t.Address.Key(), outbox.Edit{Message: t.Message, Note: n})
}
