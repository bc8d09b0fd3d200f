package botapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-telegram/bot"
)

// ErrPollHung means that a poll took longer than Telegram was asked to hold it.
var ErrPollHung = errors.New("the poll hung")

// An Error is a refusal of the Bot API that the library does not decode.
type Error struct {
	Method     string
	Status     int
	Text       string
	RetryAfter time.Duration
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %d %s", e.Method, e.Status, e.Text) }

// NeverSent reports whether a call cannot have reached Telegram.
func NeverSent(err error) bool {
	dial := (*net.OpError)(nil)
	dns := (*net.DNSError)(nil)
	return errors.As(err, &dns) || errors.As(err, &dial) && dial.Op == "dial"
}

// Refused reports whether Telegram refused a call with words that hold one of these.
func Refused(err error, words ...string) bool {
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

// NotModified reports whether an edit was refused because nothing would change.
func NotModified(err error) bool { return Refused(err, "message is not modified") }

// NetworkReason says why a connection failed, without what differs each time, such
// as the port at this end.
func NetworkReason(err error) string {
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

// RetryAfter returns how long Telegram asks to wait; 0 if an error says nothing of that.
func RetryAfter(err error) time.Duration {
	tooMany, api := (*bot.TooManyRequestsError)(nil), (*Error)(nil)
	switch {
	case errors.As(err, &tooMany):
		return time.Duration(tooMany.RetryAfter) * time.Second
	case errors.As(err, &api):
		return api.RetryAfter
	}
	return 0
}
