package httpapi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/humanize"
)

const (
	// bodyTimeout bounds how long a body may take to arrive, also where nobody reads it.
	bodyTimeout = 2 * time.Minute
	// maxBodies bounds the bodies under way on all listeners together, in bytes.
	maxBodies = 256 << 20
)

// A timedBody is a body that must arrive within bodyTimeout. What comes after it has no deadline:
// answers may take as long as turns.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

// timed returns the request's body with its deadline. Where deadlines are not supported the body may
// take longer.
func timed(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	if r.ContentLength == 0 {
		return r.Body
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTimeout))
	return &timedBody{r.Body, conn}
}

// Read ends the deadline with the body.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// errTooManyBodies means that as many bytes are under way as the budget allows.
var errTooManyBodies = errors.New("too many bodies")

// A bodyBudget counts the bytes of bodies that are being read, or whose requests are being served.
type bodyBudget struct {
	limit int64
	held  atomic.Int64
}

// A heldBody is the part of a request in the budget.
type heldBody struct {
	budget *bodyBudget
	size   int64
}

// hold counts n more bytes, unless there are too many.
func (b *heldBody) hold(n int) error {
	b.size += int64(n)
	if b.budget.held.Add(int64(n)) > b.budget.limit {
		return errTooManyBodies
	}
	return nil
}

// release ends the request's part: nothing of its body is kept any more, or core has taken it over.
func (b *heldBody) release() {
	b.budget.held.Add(-b.size)
	b.size = 0
}

// A countingReader holds what it reads.
type countingReader struct {
	io.Reader
	body *heldBody
}

// Read returns errTooManyBodies when what it has read is too much.
func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	return n, cmp.Or(c.body.hold(n), err)
}

// readBody reads the request's JSON body into a shape. Unknown members are ignored, so
// that newer clients can use an older gateway; null counts as absent.
func readBody(w *response, r *http.Request, shape any) error {
	body, err := receiveBody(w, r)
	if err != nil {
		return err
	}
	if w.route != api.PathMessage { // a large body is not kept while its turn runs: a message can be encoded again
		w.resend = func() []byte { return body }
	}
	return decode(body, shape)
}

func withBody[T any](h func(w *response, r *http.Request, in *T) (any, error)) handlerFunc {
	return func(w *response, r *http.Request) (any, error) {
		var in T
		if err := readBody(w, r, &in); err != nil {
			return nil, err
		}
		return h(w, r, &in)
	}
}

// readOptionalBody is readBody for a request with an optional body. A request without a
// body needs no content type.
func readOptionalBody(w *response, r *http.Request, shape any) error {
	if r.ContentLength == 0 {
		return nil
	}
	return readBody(w, r, shape)
}

// bufferBody receives the body of a request that another handler serves.
func bufferBody(w *response, r *http.Request) error {
	body, err := receiveBody(w, r)
	if err == nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return err
}

// jsonOnly returns h for requests without a body, or with one of JSON. A route that reads no body
// refuses others too, so that a web page must ask before it sends a request anywhere.
func jsonOnly(h handlerFunc) handlerFunc {
	return func(w *response, r *http.Request) (any, error) {
		if p := checkContentType(r); p != nil {
			return nil, p
		}
		return h(w, r)
	}
}

// checkContentType refuses bodies that are not JSON. No body needs no type.
func checkContentType(r *http.Request) *problem {
	if r.ContentLength == 0 {
		return nil
	}
	ct := r.Header.Get("Content-Type")
	if ct != "application/json" {
		if media, _, err := mime.ParseMediaType(ct); err != nil || media != "application/json" {
			return refuse(http.StatusUnsupportedMediaType, api.UnsupportedMediaType,
				"Send the body as JSON, with the header \"Content-Type: application/json\".")
		}
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return refuse(http.StatusUnsupportedMediaType, api.UnsupportedMediaType, "Send the body without a Content-Encoding.")
	}
	return nil
}

// receiveBody returns the body, which counts as held until the request ends or releases it.
func receiveBody(w *response, r *http.Request) ([]byte, error) {
	limit := w.bodyLimit
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := io.ReadAll(countingReader{http.MaxBytesReader(w.ResponseWriter, r.Body, limit), &w.body})
	if err != nil {
		w.body.release()
	}
	if errors.Is(err, errTooManyBodies) {
		return nil, refuse(http.StatusServiceUnavailable, api.TooManyBodies,
			"The gateway is receiving as many bodies as it may; send this again in a moment.").with("Retry-After", "1")
	}
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		return nil, tooLarge(limit)
	}
	if err != nil {
		return nil, badRequest(api.IncompleteBody, "The body ended early or stopped arriving; send it again.")
	}
	w.bodyRead = true
	return body, nil
}

func tooLarge(limit int64) *problem {
	return refuse(http.StatusRequestEntityTooLarge, api.BodyTooLarge,
		fmt.Sprintf("The body is larger than %s, the limit set by BARECLAW_BODY_LIMIT.", humanize.Bytes(uint64(limit))))
}

func decode(body []byte, shape any) error {
	value := jsontext.Value(body)
	if len(bytes.TrimSpace(body)) == 0 {
		return badRequest(api.InvalidJSON, `The body is empty; send a JSON object such as {"text": "hello"}.`)
	}
	if value.Kind() != '{' {
		var other any
		if err := json.Unmarshal(body, &other); err != nil {
			return badJSON(err)
		}
		return badRequest(api.InvalidBody, "The body must be a JSON object.")
	}
	if err := json.Unmarshal(body, shape); err != nil {
		return wrongMember(err, "", "")
	}
	return nil
}

// wrongMember names the required type of a member. An empty code selects the default
// code of the member; prefix comes before the member's name.
func wrongMember(err error, code, prefix string) error {
	wrong := (*json.SemanticError)(nil)
	if !errors.As(err, &wrong) {
		return badJSON(err)
	}
	path := slices.Collect(wrong.JSONPointer.Tokens())
	code = cmp.Or(code, memberCodes[path[0]], "bad_"+path[0])
	name := prefix + strings.Join(path, ".")
	if prefix == "" {
		name = strconv.Quote(name)
	}
	if wrong.Err != nil && wrong.JSONKind == '0' {
		return badRequest(code, "%s is too large a number.", name)
	}
	kinds := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Float64: "a number",
		reflect.Struct: "an object", reflect.Map: "an object", reflect.Slice: "an array",
	}
	typ := wrong.GoType
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return badRequest(code, "%s must be %s.", name, kinds[typ.Kind()])
}

// memberCodes are the codes of invalid members whose code is not "bad_" and the member's
// name.
var memberCodes = map[string]string{
	"message": api.BadText, "budget_usd": api.BadBudget, "model": api.BadSetting, "permission_mode": api.BadSetting, "tools": api.BadSetting,
	"rollback": api.BadPath, "turn_id": api.InvalidBody,
}

func badJSON(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badRequest(api.InvalidJSON, "The body is not valid JSON: it ends too early.")
	case errors.As(err, &syntax):
		return badRequest(api.InvalidJSON, "The body is not valid JSON at byte %d: %s.", syntax.ByteOffset, humanize.Shorten(syntax.Err.Error(), maxQuoted))
	default:
		return badRequest(api.InvalidJSON, "The body is not valid JSON: %s.", humanize.Shorten(err.Error(), maxQuoted))
	}
}
