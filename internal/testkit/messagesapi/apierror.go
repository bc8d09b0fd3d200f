package messagesapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// An apiError is an answer in the API's error form.
type apiError struct {
	status  int
	message string
}

// badRequest is the API's answer to a request of the wrong shape.
func badRequest(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// errorTypes are the values of error.type that go with a status:
// platform.claude.com/docs/en/api/errors. 529 is the API's own "overloaded".
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}

// reason is the message, "" without an error.
func (e *apiError) reason() string {
	if e == nil {
		return ""
	}
	return e.message
}

// fail answers with the error .
func (s *Standin) fail(w http.ResponseWriter, e *apiError) {
	id := s.nextID("req")
	w.Header().Set("request-id", id)
	writeJSON(w, e.status, map[string]any{
		"type":       "error",
		"error":      map[string]any{"type": errorTypes[e.status], "message": e.message},
		"request_id": id,
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left needs no answer
}
