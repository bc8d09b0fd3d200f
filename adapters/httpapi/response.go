package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

// A response records the answer to a request. Its status is 0 until the answer begins.
type response struct {
	http.ResponseWriter
	log       *slog.Logger
	bodyLimit int64
	route     string
	status    int
	local     bool          // the request came over the Unix socket of the user's own programs
	repeated  bool          // another process may have carried out the request
	bodyRead  bool          // to its end
	resend    func() []byte // returns the body for a successor
	held      *core.Message // accepted by the request; the successor has the outcome
}

// WriteHeader records the status.
func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write records that the answer has begun.
func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap serves http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// resendShape has a successor get a shape as the body.
func (w *response) resendShape(shape any) {
	w.resend = func() []byte {
		body, _ := marshal(shape) // the shapes of requests are always encoded
		return body
	}
}

// json answers with a JSON document.
func (w *response) json(status int, doc []byte) error {
	return w.bytes(status, "application/json", doc)
}

func (w *response) bytes(status int, contentType string, doc []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(doc)))
	w.WriteHeader(status)
	_, err := w.Write(doc)
	return err
}

// show answers with a shape of the API.
func (w *response) show(status int, shape any) error {
	doc, err := marshal(shape)
	if err != nil {
		return fmt.Errorf("encode the reply of %s: %w", w.route, err)
	}
	return w.json(status, append(doc, '\n'))
}

// timeLayout is RFC 3339 in UTC with microseconds.
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

// encoding writes all times of the API in the same form, strings of raw values unchanged, and
// invalid UTF-8 as replacement characters.
var encoding = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
	var buf [len(timeLayout) + 2]byte
	return enc.WriteValue(append(t.UTC().AppendFormat(append(buf[:0], '"'), timeLayout), '"'))
})))

// marshal returns a shape as JSON.
func marshal(shape any) (jsontext.Value, error) { return json.Marshal(shape, encoding) }

// maxQuoted bounds the client texts repeated in errors and log lines, in characters.
const maxQuoted = 200
