package telegram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bareclaw/core"
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

// pollProblem says in words for whoever runs the gateway why a poll failed. The same
// cause has the same words each time.
func pollProblem(err error) string {
	if isStorage(err) {
		return "Telegram's messages are left there, since they cannot be recorded here: " + err.Error()
	}
	api := (*apiError)(nil)
	if !errors.As(err, &api) {
		if errors.Is(err, errPollHung) {
			return "Telegram does not answer: polls hang."
		}
		return "Telegram cannot be reached: " + networkReason(err)
	}
	switch api.status {
	case http.StatusUnauthorized, http.StatusNotFound:
		return "Telegram refuses the token. Check BARECLAW_TELEGRAM_TOKEN, or ask @BotFather for a new one."
	case http.StatusConflict:
		if strings.Contains(api.text, "webhook") {
			return "This bot's messages go to a webhook that somebody has set. Remove it with the Bot API's deleteWebhook, " +
				"or use another bot: a webhook may be another program's, so it is not removed by itself."
		}
		return "Another program receives this bot's messages. Stop it, or have @BotFather revoke the token. Telegram says: " + api.text
	case http.StatusTooManyRequests:
		return fmt.Sprintf("Telegram asks to be left alone for %s.", api.retryAfter)
	}
	return fmt.Sprintf("Telegram fails: %d %s", api.status, api.text)
}

// networkReason says why a connection failed, without what differs each time, such
// as the port at this end.
func networkReason(err error) string {
	lookup, op, request := (*net.DNSError)(nil), (*net.OpError)(nil), (*url.Error)(nil)
	switch {
	case errors.As(err, &lookup):
		return "the name " + lookup.Name + " is not found"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	case errors.As(err, &request):
		return request.Err.Error()
	}
	return err.Error()
}

// isStorage reports whether the ledger could not be written.
func isStorage(err error) bool {
	return errors.Is(err, core.ErrStorage) || errors.Is(err, core.ErrStorageFull)
}
