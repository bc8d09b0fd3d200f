package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/shortid"
)

// A response records the answer to a request. Its status is 0 until the answer begins.
type response struct {
	http.ResponseWriter
	log         *slog.Logger
	bodyLimit   int64
	body        heldBody // what was read of it
	route       string
	status      int
	refused     bool          // by the guard
	local       bool          // the request came over the Unix socket of the user's own programs
	repeated    bool          // another process may have carried out the request
	bodyRead    bool          // to its end
	bodyRefused bool          // before its end
	resend      func() []byte // returns the body for a successor
	held        *core.Message // accepted by the request; the successor has the outcome
}

// WriteHeader records the status.
func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write records that the answer has begun.
func (w *response) Write(b []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(b) //nolint:gosec // no answer is HTML
}

// Unwrap serves http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) bytes(status int, contentType string, doc []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(doc)))
	w.WriteHeader(status)
	_, err := w.Write(doc)
	return err
}

func (w *response) show(status int, shape any) error {
	doc, err := marshal(shape)
	if err != nil {
		return fmt.Errorf("encode the reply of %s: %w", w.route, err)
	}
	return w.bytes(status, "application/json", append(doc, '\n'))
}

// timeLayout is RFC 3339 in UTC with microseconds.
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

// encoding writes all times of the API in the same form, raw values unchanged, also with a member
// twice, and invalid UTF-8 as replacement characters.
var encoding = json.JoinOptions(
	jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true),
	json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
		var buf [len(timeLayout) + 2]byte
		return enc.WriteValue(append(t.UTC().AppendFormat(append(buf[:0], '"'), timeLayout), '"'))
	})),
)

func marshal(shape any) (jsontext.Value, error) { return json.Marshal(shape, encoding) }

// maxQuoted bounds the client texts repeated in errors and log lines, in characters.
const maxQuoted = 200

// A problem is an error in the form sent to the client.
type problem struct {
	status  int
	headers map[string]string
	body    api.Error
	plain   string // sent in place of body, for a person; empty: body is sent
}

func (p *problem) Error() string { return p.body.Code + ": " + p.body.Error }

func refuse(status int, code, text string) *problem {
	return &problem{status: status, body: api.Error{Error: text, Code: code}}
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

func explain(w *response, err error) *problem {
	unclear, isUnclear := errors.AsType[*shortid.NoMatchError](err)
	switch {
	case isUnclear && unclear.Found > 1:
		return refuse(http.StatusConflict, api.AmbiguousID, sentence(unclear)+".")
	case isUnclear, errors.Is(err, core.ErrNotFound):
		return refuse(http.StatusNotFound, api.NotFound, notFoundText(w.route))
	case errors.Is(err, core.ErrQueueFull):
		return refuse(http.StatusTooManyRequests, api.QueueFull,
			"This channel already holds as many messages as it may (BARECLAW_QUEUE_LIMIT); send this message again when some are answered.").with("Retry-After", "5")
	case errors.Is(err, core.ErrKeyReused):
		return refuse(http.StatusUnprocessableEntity, api.IdempotencyMismatch,
			"This Idempotency-Key was used for something else; use a new key for a new message or push.")
	case errors.Is(err, core.ErrBadContent):
		return badRequest(api.BadContent, "The content cannot be handed to the agent; send non-empty text or content blocks.")
	case errors.Is(err, core.ErrBadSetting):
		return badRequest(api.BadSetting, "%s.", sentence(err))
	case errors.Is(err, core.ErrClosed), errors.Is(err, context.Canceled): // in the latter case the client has disconnected
		return shuttingDown()
	case errors.Is(err, core.ErrStorageFull):
		w.log.Error("storage is full", "err", err)
		return refuse(http.StatusInsufficientStorage, api.StorageFull,
			"The disk of the state directory is full and nothing was accepted; free some space and send this again.")
	case errors.Is(err, core.ErrStorage):
		w.log.Error("storage cannot be written", "err", err)
		return refuse(http.StatusServiceUnavailable, api.StorageUnavailable,
			"The state directory cannot be written and nothing was accepted; see the gateway's log, then send this again.").with("Retry-After", "5")
	default:
		w.log.Error("http request failed", "route", w.route, "err", err)
		return internalError()
	}
}

// isUnknown reports whether an error means that a text stands for no id at all.
func isUnknown(err error) bool {
	none, ok := errors.AsType[*shortid.NoMatchError](err)
	return ok && none.Found == 0
}

func internalError() *problem {
	return refuse(http.StatusInternalServerError, api.Internal, "The gateway failed on this request; its log says more.")
}

func shuttingDown() *problem {
	return refuse(http.StatusServiceUnavailable, api.ShuttingDown,
		"The gateway is restarting or shutting down and accepted nothing; send this again in a moment.").with("Retry-After", "2")
}

func notFoundText(route string) string {
	switch {
	case strings.HasPrefix(route, "/messages/"):
		return "There is no message with this id."
	case route == "/channels/{key}/rules/{id}":
		return "This channel has no rule with this id; GET /channels/{key}/rules lists its rules."
	case strings.HasPrefix(route, "/schedules/"):
		return "There is no schedule with this id; GET /schedules lists all schedules."
	case route == "/approvals/{id}":
		return "There is no approval with this id; GET /approvals lists the pending ones."
	}
	return "There is no such channel; GET /channels lists all channels."
}

func sentence(err error) string {
	text := err.Error()
	first, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[n:]
}
