package telegram

import (
	"context"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// A tap is a button that somebody who is listened to has tapped. What a button does
// is in its data: a verb, a colon, and whatever the verb needs. The data is all that
// a tap brings, so that buttons work after a restart, and on messages of any age.
type tap struct {
	key     string // source key
	place   place
	message int  // the message with the button
	stale   bool // which Telegram does not show any more: its topic is not known
	user    models.User
	verb    string
	arg     string
}

// taps says what the buttons' verbs do. Each returns what is shown to who tapped: at
// most 200 characters, https://core.telegram.org/bots/api#answercallbackquery
func (a *Adapter) taps() map[string]func(context.Context, tap) string {
	return map[string]func(context.Context, tap) string{
		"ok": a.tapAllow, "always": a.tapAlways, "no": a.tapDeny, "all": a.tapAll, "revise": a.tapRevise, "q": a.tapOption,
		"drop": a.tapDrop, "now": a.tapNow, "model": a.tapModel, "mode": a.tapMode, "verbose": a.tapVerbose, "unrule": a.tapUnrule,
		"stop":   a.tappedStop,
		verbEdit: a.runEdited,
	}
}

// tapped does what a button is for, and tells so.
func (a *Adapter) tapped(ctx context.Context, r *arrival) {
	q := r.update.CallbackQuery
	t := tap{key: r.key, user: q.From}
	t.verb, t.arg, _ = strings.Cut(q.Data, ":")
	if m := q.Message.Message; m != nil {
		t.place, t.message = placeOf(m), m.ID
	} else if m := q.Message.InaccessibleMessage; m != nil {
		t.place, t.message, t.stale = place{chat: m.Chat.ID}, m.MessageID, true
	}
	answer := "This button is not known any more."
	if do := a.taps()[t.verb]; do != nil {
		answer = do(ctx, t)
	}
	err := a.call(ctx, func(ctx context.Context) error {
		_, err := a.client.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: q.ID, Text: brief(answer, answerShown)})
		return err
	})
	if err != nil && ctx.Err() == nil {
		a.o.Log.Debug("telegram: tap not answered", "err", err) // it is done all the same; after a restart it may be too old
	}
}
