package telegram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"bareclaw/adapters/telegram/schedule"

	"github.com/go-telegram/bot"
)

// errPollHung: a poll took longer than Telegram was asked to hold it.
var errPollHung = errors.New("the poll hung")

// errLeaving: the adapter was told to end before the call was begun.
var errLeaving = errors.New("the gateway is ending")

// errForGood marks what trying again cannot help.
var errForGood = errors.New("cannot be sent")

// An apiError is a refusal of the Bot API that the library does not decode.
type apiError struct {
	method     string
	status     int
	text       string
	retryAfter time.Duration
}

func (e *apiError) Error() string { return fmt.Sprintf("%s: %d %s", e.method, e.status, e.text) }

// classify says what the failure of a call means for the schedule.
func classify(err error) schedule.Verdict {
	tooMany, moved := (*bot.TooManyRequestsError)(nil), (*bot.MigrateError)(nil)
	switch {
	case errors.As(err, &tooMany):
		return schedule.Verdict{Kind: schedule.Wait, For: time.Duration(tooMany.RetryAfter) * time.Second}
	case errors.As(err, &moved):
		return schedule.Verdict{Kind: schedule.Retry} // to where it has moved
	case errors.Is(err, errForGood), errors.Is(err, bot.ErrorForbidden), errors.Is(err, bot.ErrorBadRequest):
		return schedule.Verdict{Kind: schedule.Permanent}
	case errors.Is(err, bot.ErrorUnauthorized), errors.Is(err, bot.ErrorNotFound), errors.Is(err, errLeaving): // the token is refused
		return schedule.Verdict{Kind: schedule.Retry, Global: true}
	}
	return schedule.Verdict{Kind: schedule.Retry, Global: true, Ambiguous: !unsent(err)}
}

// unsent reports whether a call cannot have reached Telegram.
func unsent(err error) bool {
	dial := (*net.OpError)(nil)
	dns := (*net.DNSError)(nil)
	return errors.As(err, &dns) || errors.As(err, &dial) && dial.Op == "dial"
}

// refused reports whether Telegram refused a call with words that hold one of these.
func refused(err error, words ...string) bool {
	if !errors.Is(err, bot.ErrorBadRequest) {
		return false
	}
	text := strings.ToLower(err.Error())
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// unchanged reports whether an edit was refused because nothing would change.
func unchanged(err error) bool { return refused(err, "message is not modified") }

// pollProblem says in words for whoever runs the gateway why a poll failed.
func pollProblem(err error) string {
	api := (*apiError)(nil)
	if !errors.As(err, &api) {
		if errors.Is(err, errPollHung) || errors.Is(err, context.DeadlineExceeded) {
			return "Telegram does not answer: polls hang."
		}
		return "Telegram cannot be reached: " + err.Error()
	}
	switch api.status {
	case http.StatusUnauthorized, http.StatusNotFound:
		return "Telegram refuses the token. Check BARECLAW_TELEGRAM_TOKEN, or ask @BotFather for a new one."
	case http.StatusConflict:
		return "Another program receives this bot's messages: " + api.text +
			" Stop it, remove its webhook, or revoke the token at @BotFather."
	case http.StatusTooManyRequests:
		return fmt.Sprintf("Telegram asks to be left alone for %s.", api.retryAfter)
	}
	return fmt.Sprintf("Telegram fails: %d %s", api.status, api.text)
}
