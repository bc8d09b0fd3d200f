package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

// A problem is an error as the client sees it.
type problem struct {
	status  int
	code    string // stable word
	text    string // for a person: what is wrong and what to do
	headers map[string]string
	// A further member of the body, where the code has one.
	name  string
	value jsontext.Value
}

func (p *problem) Error() string { return p.code + ": " + p.text }

func refuse(status int, code, text string) *problem {
	return &problem{status: status, code: code, text: text}
}

func badRequest(code, format string, args ...any) *problem {
	return refuse(http.StatusBadRequest, code, fmt.Sprintf(format, args...))
}

func (p *problem) with(header, value string) *problem {
	if p.headers == nil {
		p.headers = map[string]string{}
	}
	p.headers[header] = value
	return p
}

func (p *problem) member(name string, value jsontext.Value) *problem {
	p.name, p.value = name, value
	return p
}

func (p *problem) body() []byte {
	b := quote([]byte(`{"error":`), p.text)
	b = quote(append(b, `,"code":`...), p.code)
	if p.name != "" {
		b = quote(append(b, ','), p.name)
		b = append(append(b, ':'), p.value...)
	}
	return append(b, "}\n"...)
}

// explain turns an error of core into what the client is told.
func (s *Server) explain(w *response, err error) *problem {
	switch {
	case errors.Is(err, core.ErrNotFound):
		return refuse(http.StatusNotFound, "not_found", notFoundText(w.route))
	case errors.Is(err, core.ErrQueueFull):
		return refuse(http.StatusTooManyRequests, "queue_full",
			"This channel already holds as many messages as it may (BARECLAW_QUEUE_LIMIT); send this one again when some are answered.").with("Retry-After", "5")
	case errors.Is(err, core.ErrKeyReused):
		return refuse(http.StatusUnprocessableEntity, "idempotency_mismatch",
			"This Idempotency-Key was used for something else; use a new key for a new message or push.")
	case errors.Is(err, core.ErrBadContent):
		return badRequest("bad_content", "The content cannot be handed to the agent; send non-empty text or content blocks.")
	case errors.Is(err, core.ErrBadSetting):
		return badRequest("bad_setting", "%s.", sentence(err))
	case errors.Is(err, core.ErrClosed), errors.Is(err, context.Canceled): // in the latter case nobody listens any more
		return shuttingDown()
	case errors.Is(err, core.ErrStorageFull):
		s.o.Log.Error("storage is full", "err", err)
		return refuse(http.StatusInsufficientStorage, "storage_full",
			"The disk of the state directory is full and nothing was accepted; free some space and send this again.")
	case errors.Is(err, core.ErrStorage):
		s.o.Log.Error("storage cannot be written", "err", err)
		return refuse(http.StatusServiceUnavailable, "storage_unavailable",
			"The state directory cannot be written and nothing was accepted; see the gateway's log, then send this again.").with("Retry-After", "5")
	default:
		s.o.Log.Error("http request failed", "route", w.route, "err", err)
		return refuse(http.StatusInternalServerError, "internal", "The gateway failed on this request; its log says more.")
	}
}

func shuttingDown() *problem {
	return refuse(http.StatusServiceUnavailable, "shutting_down",
		"The gateway is restarting or shutting down and accepted nothing; send this again in a moment.").with("Retry-After", "2")
}

func notFoundText(route string) string {
	switch route {
	case "/messages/{id}", "/messages/{id}/events", "/messages/{id}/retry", "/messages/{id}/trace":
		return "There is no message with this id."
	case "/channels/{key}/rules/{id}":
		return "This channel has no rule with this id; GET /channels/{key}/rules lists those it has."
	case "/schedules/{id}":
		return "There is no schedule with this id; GET /schedules lists those there are."
	case "/approvals/{id}":
		return "There is no approval with this id; GET /approvals lists those that wait."
	default:
		return "There is no such channel; GET /channels lists those there are."
	}
}

// sentence makes an error's text begin like one.
func sentence(err error) string {
	text := err.Error()
	first, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[n:]
}
