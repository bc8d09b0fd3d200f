package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// errPollHung: a poll took longer than Telegram was asked to hold it.
var errPollHung = errors.New("the poll hung")

// An apiError is a refusal of the Bot API that the library does not decode.
type apiError struct {
	method     string
	status     int
	text       string
	retryAfter time.Duration
}

func (e *apiError) Error() string { return fmt.Sprintf("%s: %d %s", e.method, e.status, e.text) }

// pollProblem says in words for whoever runs the gateway why a poll failed.
func pollProblem(err error) string {
	api := (*apiError)(nil)
	if !errors.As(err, &api) {
		if errors.Is(err, errPollHung) {
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
