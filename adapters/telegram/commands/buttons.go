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
		id := core.MessageID(t.Arg)
		m, err := o.Messages.Message(ctx, id)
		if err == nil && !o.Moves.InChat(t.Address, m.Channel) {
			return chats.ButtonGone
		}
		return do(ctx, t)
	}
}

// Tapped handles and answers a tap of an allowed user.
func (h *Handler) Tapped(ctx context.Context, key string, q *models.CallbackQuery) {
	t := tapOf(key, q)
	t.Address = h.Moves.Present(t.Address)
	answer := h.act(ctx, t, q.Data)
	h.answerTap(ctx, q.ID, answer)
}

// tapOf reads a tap. Of the message of a stale tap, only the chat and the id are known.
func tapOf(key string, q *models.CallbackQuery) chats.Tap {
	t := chats.Tap{
		Key:  key,
		User: q.From,
	}
	t.Verb, t.Arg, _ = strings.Cut(q.Data, ":")
	m, stale := q.Message.Message, q.Message.InaccessibleMessage
	switch {
	case m != nil:
		t.Address = chats.AddressOf(m)
		t.Message = m.ID
	case stale != nil:
		t.Address = chats.Address{Chat: stale.Chat.ID}
		t.Message = stale.MessageID
		t.Stale = true
	}
	return t
}

// act does what a button is for, and returns what was done.
func (h *Handler) act(ctx context.Context, t chats.Tap, data string) string {
	if command := called(data); command != "" {
		return h.choose(ctx, t, command)
	}
	if do := h.actions[t.Verb]; do != nil {
		return do(ctx, t)
	}
	return chats.ButtonGone
}

// answerTap shows an answer to the person who has tapped.
func (h *Handler) answerTap(ctx context.Context, id, answer string) {
	if h.Sender.Cooldowns.Left(outbox.Taps) > 0 {
		return // the action counts; a late answer is of no use
	}
	params := &bot.AnswerCallbackQueryParams{
		CallbackQueryID: id,
		Text:            mdtext.Brief(answer, view.ToastShown),
	}
	err := h.Sender.Call(botapi.CallTimeout, func(ctx context.Context) error {
		_, err := h.Sender.Client.AnswerCallbackQuery(ctx, params)
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
	call := commands.Call{
		Channel: t.Address.Key(),
		Person:  chats.FullName(&t.User),
		Arg:     arg,
	}
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
		shown := view.NoteOf(n.Text, &n)
		h.edit(ctx, t, shown)
	}
	return n.Done
}

// meant returns the message that the last word of an argument names.
func (h *Handler) meant(ctx context.Context, arg string) (core.Message, error) {
	space := strings.LastIndexByte(arg, ' ')
	id := arg[space+1:]
	if len(id) < shortid.Full {
		return core.Message{}, core.ErrNotFound
	}
	return h.Messages.Message(ctx, core.MessageID(id))
}

// edit replaces the message of a button.
func (h *Handler) edit(ctx context.Context, t chats.Tap, n view.Note) {
	edit := outbox.Edit{
		Message: t.Message,
		Note:    n,
	}
	h.Out.Edit(ctx, "edit:"+t.Key, t.Address.Key(), edit)
}
