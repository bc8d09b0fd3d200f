package telegram

import (
	"context"
	"strings"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// A tap is a button that somebody who is listened to has tapped. What a button does
// is in its data: a verb, a colon, and whatever the verb needs. The data is all that
// a tap brings, so that buttons work after a restart, and on messages of any age.
type tap struct {
	key     string // source key
	place   chats.Address
	message int  // the message with the button
	stale   bool // which Telegram does not show any more: its topic is not known
	user    models.User
	verb    string
	arg     string
}

// An action is what a button does. It returns what is shown to who tapped: at most 200
// characters, https://core.telegram.org/bots/api#answercallbackquery
type action func(context.Context, tap) string

// taps says what the buttons' verbs do.
func (a *Adapter) taps() map[string]action {
	return map[string]action{
		"ok": a.ofApproval(a.tapAllow), "always": a.ofApproval(a.tapAlways), "no": a.ofApproval(a.tapDeny),
		"all": a.ofApproval(a.tapAll), "revise": a.ofApproval(a.tapRevise), "q": a.ofApproval(a.tapOption),
		"drop": a.ofMessage(a.tapDrop), "now": a.ofMessage(a.tapNow),
		"model": a.tapModel, "mode": a.tapMode, "verbose": a.tapVerbose, "unrule": a.tapUnrule,
		"stop":   a.tappedStop,
		verbEdit: a.runEdited,
	}
}

// buttonGone is said of a button that does nothing.
const buttonGone = "This button is not known any more."

// ofApproval lets a button do something about the approvals of its own chat only: a
// tap can bring data that no button has.
func (a *Adapter) ofApproval(do action) action {
	return func(ctx context.Context, t tap) string {
		id, _, _ := strings.Cut(t.arg, ":")
		if p, err := a.o.Core.Approval(ctx, id); err == nil && !a.inChat(t.place, p.Channel) {
			return buttonGone
		}
		return do(ctx, t)
	}
}

// ofMessage lets a button do something about the messages of its own chat only.
func (a *Adapter) ofMessage(do action) action {
	return func(ctx context.Context, t tap) string {
		if m, err := a.o.Core.Message(ctx, core.MessageID(t.arg)); err == nil && !a.inChat(t.place, m.Channel) {
			return buttonGone
		}
		return do(ctx, t)
	}
}

// inChat reports whether a channel is a conversation in the chat of a place.
func (a *Adapter) inChat(here chats.Address, key core.ChannelKey) bool {
	p, ok := chats.ParseAddress(key)
	return ok && a.movedTo(p).Chat == a.movedTo(here).Chat
}

// tapped does what a button is for, and tells so.
func (a *Adapter) tapped(ctx context.Context, r *arrival) {
	q := r.update.CallbackQuery
	if !a.allowed[q.From.ID] {
		return // who was listened to when it was received
	}
	t := tap{key: r.key, user: q.From}
	t.verb, t.arg, _ = strings.Cut(q.Data, ":")
	if m := q.Message.Message; m != nil {
		t.place, t.message = chats.AddressOf(m), m.ID
	} else if m := q.Message.InaccessibleMessage; m != nil {
		t.place, t.message, t.stale = chats.Address{Chat: m.Chat.ID}, m.MessageID, true
	}
	answer := buttonGone
	if do := a.taps()[t.verb]; do != nil {
		answer = do(ctx, t)
	}
	if a.cooldowns.left(scopeTaps) > 0 {
		return // what was done is done; an answer is of use only now
	}
	err := a.call(ctx, func(ctx context.Context) error {
		_, err := a.client.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: q.ID, Text: brief(answer, answerShown)})
		return err
	})
	if d := botapi.RetryAfter(err); d > 0 {
		a.coolDown(scopeTaps, d)
	}
	if err != nil && ctx.Err() == nil {
		a.o.Log.Debug("telegram: tap not answered", "err", err) // it is done all the same; after a restart it may be too old
	}
}
