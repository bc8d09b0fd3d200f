package messagesapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// An apiError is an answer in the API's error form.
type apiError struct {
	status  int
	kind    string // error.type; "" means the usual one for the status
	message string
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s", e.status, e.message) }

// badRequest is the API's answer to a request of the wrong shape.
func badRequest(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// errorType is the error.type that goes with a status:
// platform.claude.com/docs/en/api/errors.
func errorType(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case 529: // the API's own "overloaded"
		return "overloaded_error"
	}
	if status < http.StatusInternalServerError {
		return "invalid_request_error"
	}
	return "api_error"
}

// fail answers with the error and logs it.
func (s *Standin) fail(w http.ResponseWriter, e *apiError) {
	kind := e.kind
	if kind == "" {
		kind = errorType(e.status)
	}
	id := s.ids.next("req")
	s.opts.Log.Debug("api stand-in: error", "status", e.status, "type", kind, "message", e.message)
	w.Header().Set("request-id", id)
	writeJSON(w, e.status, map[string]any{
		"type":       "error",
		"error":      map[string]any{"type": kind, "message": e.message},
		"request_id": id,
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left needs no answer
}
