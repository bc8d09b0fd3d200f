package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"

	"github.com/go-telegram/bot"
)

// errLeaving: the adapter was told to end before the call was begun.
var errLeaving = errors.New("the gateway is ending")

// errForGood marks what trying again cannot help.
var errForGood = errors.New("cannot be sent")

// classify says what the failure of a call means for the schedule.
func classify(err error) throttle.Verdict {
	tooMany, moved := (*bot.TooManyRequestsError)(nil), (*bot.MigrateError)(nil)
	switch {
	case errors.As(err, &tooMany):
		return throttle.Verdict{Kind: throttle.Wait, For: time.Duration(tooMany.RetryAfter) * time.Second}
	case errors.As(err, &moved):
		return throttle.Verdict{Kind: throttle.Retry} // to where it has moved
	case errors.Is(err, errForGood), errors.Is(err, errCannotCompose), errors.Is(err, bot.ErrorForbidden), errors.Is(err, bot.ErrorBadRequest):
		return throttle.Verdict{Kind: throttle.Permanent}
	case errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound), errors.Is(err, errLeaving): // the token is refused
		return throttle.Verdict{Kind: throttle.Retry, Global: true}
	}
	return throttle.Verdict{Kind: throttle.Retry, Global: true, Ambiguous: !botapi.NeverSent(err)}
}

// pollProblem says in words for whoever runs the gateway why a poll failed. The same
// cause has the same words each time.
func pollProblem(err error) string {
	if tasks.IsStorage(err) {
		return "Telegram's messages are left there, since they cannot be recorded here: " + err.Error()
	}
	api := (*botapi.Error)(nil)
	if !errors.As(err, &api) {
		if errors.Is(err, botapi.ErrPollHung) || errors.Is(err, context.DeadlineExceeded) {
			return "Telegram does not answer: polls hang."
		}
		return "Telegram cannot be reached: " + botapi.NetworkReason(err)
	}
	switch api.Status {
	case http.StatusUnauthorized, http.StatusNotFound:
		return "Telegram refuses the token. Check BARECLAW_TELEGRAM_TOKEN, or ask @BotFather for a new one."
	case http.StatusConflict:
		if strings.Contains(api.Text, "webhook") {
			return "This bot's messages go to a webhook that somebody has set. Remove it with the Bot API's deleteWebhook, " +
				"or use another bot: a webhook may be another program's, so it is not removed by itself."
		}
		return "Another program receives this bot's messages. Stop it, or have @BotFather revoke the token. Telegram says: " + api.Text
	case http.StatusTooManyRequests:
		return fmt.Sprintf("Telegram asks to be left alone for %s.", api.RetryAfter)
	}
	return fmt.Sprintf("Telegram fails: %d %s", api.Status, api.Text)
}
