package botapi

import (
	"fmt"
	"net/http"
)

// An apiError is an answer that is not ok. The HTTP status is the code.
//
// The descriptions are those of the public source of the Bot API server and of TDLib
// below it, and for errors that the servers behind them send (in capitals) those seen in
// bug reports.
type apiError struct {
	code        int
	description string
	retryAfter  int   // seconds; 0 is none
	migrateTo   int64 // 0 is none
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s", e.code, e.description) }

// bad is a 400 with "Bad Request: " and the text.
func bad(format string, args ...any) *apiError {
	return &apiError{code: http.StatusBadRequest, description: "Bad Request: " + fmt.Sprintf(format, args...)}
}

func tooMany(seconds int) *apiError {
	return &apiError{code: http.StatusTooManyRequests, description: fmt.Sprintf("Too Many Requests: retry after %d", seconds), retryAfter: seconds}
}

var (
	unauthorized = &apiError{code: http.StatusUnauthorized, description: "Unauthorized"}
	blocked      = &apiError{code: http.StatusForbidden, description: "Forbidden: bot was blocked by the user"}
	tooLarge     = &apiError{code: http.StatusRequestEntityTooLarge, description: "Request Entity Too Large"}
	otherPoll    = &apiError{code: http.StatusConflict,
		description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}
	hooked = &apiError{code: http.StatusConflict,
		description: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"}
)

// body is the error as Telegram sends it.
func (e *apiError) body() object {
	o := object{"ok": false, "error_code": e.code, "description": e.description}
	switch {
	case e.retryAfter > 0:
		o["parameters"] = object{"retry_after": e.retryAfter}
	case e.migrateTo != 0:
		o["parameters"] = object{"migrate_to_chat_id": e.migrateTo}
	}
	return o
}

// object is a JSON object on its way out.
type object = map[string]any
