package botapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot"
)

// ErrPollHung means that a poll exceeded the requested poll timeout plus grace.
var ErrPollHung = errors.New("the poll hung")

// An Error is a Bot API error from a call made without the library.
type Error struct {
	Method     string
	Status     int
	Text       string
	RetryAfter time.Duration
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %d %s", e.Method, e.Status, e.Text) }

// NeverSent reports whether a failed call cannot have reached Telegram.
func NeverSent(err error) bool {
	dial := (*net.OpError)(nil)
	dns := (*net.DNSError)(nil)
	return errors.As(err, &dns) || errors.As(err, &dial) && dial.Op == "dial"
}

// Refused reports whether Telegram refused a call with an error text that contains any
// of words.
func Refused(err error, words ...string) bool {
	if !errors.Is(err, bot.ErrorBadRequest) {
		return false
	}
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// NotModified reports whether an edit was refused because the message would not change.
func NotModified(err error) bool { return Refused(err, "message is not modified") }

// NetworkReason describes why a connection failed, without details that vary between
// attempts, such as the local port.
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

// RetryAfter returns the delay that Telegram requests before a retry; 0 if err contains
// none.
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
