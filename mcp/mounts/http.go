package mounts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A refusal says that a server refuses a request, of which it has done nothing.
type refusal struct{ words string }

// Error implements error.
func (r *refusal) Error() string { return r.words }

var (
	// errLogin refuses servers that want a login by a browser.
	errLogin = &refusal{"the server wants a login (OAuth), which the gateway does not do: give the server's token in headers, " +
		`as in "Authorization": "Bearer ${TOKEN}"`}
	// errAuthorization says that the token of the headers is of no use.
	errAuthorization = &refusal{"the server refuses the Authorization of headers (401 Unauthorized): give a token that is valid there"}
)

// noServerThere ends the words of errors of a URL at which there is no MCP server.
const noServerThere = ": it does not answer as an MCP server: check the URL, which often ends in /mcp"

// errSessionGone says that a server has not looked at a request, whose session it does not know.
var errSessionGone = errors.New("the server does not know the session any more")

// isNotCarriedOut reports whether an error of a call says that no server has begun the call.
func isNotCarriedOut(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, errSessionGone) || ok && failed.Op == "dial"
}

// maxRedirects bounds the redirects of a request.
const maxRedirects = 3

// overHTTP returns the transport of a server with a URL. Its requests end with life.
func overHTTP(life context.Context, s *Server) (sdk.Transport, error) {
	origin, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport: &httpTransport{
			life:    life,
			origin:  origin,
			headers: s.Headers,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case !isSameOrigin(r.URL, origin):
				return fmt.Errorf("the server redirects to %s://%s, which is not its own address", r.URL.Scheme, r.URL.Host)
			case len(via) > maxRedirects:
				return fmt.Errorf("the server redirects more than %d times", maxRedirects)
			}
			return nil
		},
	}
	return &sdk.StreamableClientTransport{
		Endpoint:     s.URL,
		HTTPClient:   client,
		MaxEventSize: maxLine,
	}, nil
}

// isSameOrigin reports whether two addresses are of one server, which may see the same headers.
func isSameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// An httpTransport carries the requests of a session. It adds a server's headers to those that go to the
// server.
type httpTransport struct {
	life    context.Context // of the session
	origin  *url.URL
	headers map[string]string
	met     atomic.Bool // the server has answered as an MCP server
}

// RoundTrip implements [http.RoundTripper]. The error is a *refusal, errSessionGone, or says what has failed.
func (t *httpTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, release := endingWith(r.Context(), t.life)
	r = r.Clone(ctx)
	if isSameOrigin(r.URL, t.origin) {
		for name, value := range t.headers {
			r.Header.Set(name, value)
		}
	}
	response, err := t.send(r)
	if err != nil {
		release()
		return nil, err
	}
	response.Body = &releasingBody{response.Body, release}
	if err := t.check(r, response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" { // whose events the SDK bounds
		response.Body = &boundedBody{response.Body, maxLine}
	}
	return response, nil
}

// streamTimeout is how long a server may take to open the stream of what it says unasked. Some do not answer before
// they have something to say, for which the SDK would wait.
const streamTimeout = 5 * time.Second

// send sends a request. A server that does not open the stream in time has none: that is what the response says then.
func (t *httpTransport) send(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.Header.Get("Last-Event-ID") != "" { // the rest of an answer
		return http.DefaultTransport.RoundTrip(r)
	}
	ctx, cancel := context.WithCancel(r.Context()) // which releases it
	late := time.AfterFunc(streamTimeout, cancel)
	response, err := http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	if late.Stop() || r.Context().Err() != nil {
		return response, err
	}
	if err == nil {
		_ = response.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusMethodNotAllowed,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Body:       http.NoBody,
		Request:    r,
	}, nil
}

// check returns why a response refuses a message of the client; nil: it does not, or the SDK knows.
func (t *httpTransport) check(r *http.Request, response *http.Response) error {
	if response.StatusCode < http.StatusBadRequest {
		return t.meet(r, response)
	}
	if r.Method != http.MethodPost {
		_ = response.Body.Close()
		response.Body = http.NoBody // the SDK would take an error in it for the answer of all calls
		return nil
	}
	hasSession := r.Header.Get("Mcp-Session-Id") != ""
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized && r.Header.Get("Authorization") != "":
		return errAuthorization
	case code == http.StatusUnauthorized:
		return errLogin
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return busy(response)
	case code == http.StatusNotFound && hasSession:
		return errSessionGone
	case code >= http.StatusInternalServerError:
		return nil
	}
	begin := peek(response)
	if hasSession && response.StatusCode == http.StatusBadRequest && namesSession(begin) {
		return errSessionGone
	}
	err := refusalOf(response, begin)
	if refused, ok := errors.AsType[*refusal](err); ok && !t.met.Load() && isNoRoute(response.StatusCode) {
		return &refusal{refused.words + noServerThere}
	}
	return err
}

// isNoRoute reports whether a status says that the address takes no messages.
func isNoRoute(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone
}

// meet returns why the first answer that comes from an address is none of an MCP server; nil: it is one. No call has
// been made yet.
func (t *httpTransport) meet(r *http.Request, response *http.Response) error {
	if r.Method != http.MethodPost || response.StatusCode != http.StatusOK || t.met.Load() {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream":
	case "application/json":
		if begin := peek(response); len(begin) < maxPeek && !isJSONRPC(begin) {
			return &refusal{"the server answers with JSON of another kind" + noServerThere}
		}
	default:
		return &refusal{fmt.Sprintf("the server answers with %.80q", cmp.Or(kind, "a text of no type")) + noServerThere}
	}
	t.met.Store(true)
	return nil
}

// isJSONRPC reports whether a body has a message of JSON-RPC, or several.
func isJSONRPC(body []byte) bool {
	var m message
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) || json.Unmarshal(body, &m) == nil && m.Version == "2.0"
}

// namesSession reports whether a body is about the session's id, as that of servers which were written before the
// protocol said 404.
func namesSession(body []byte) bool {
	words := strings.ToLower(string(body))
	return strings.Contains(words, "session id") || strings.Contains(words, "session-id")
}

// refusalOf returns the refusal that a response with a status of 4xx and a body is; nil if the body is the answer to a
// call, which the SDK reads.
func refusalOf(response *http.Response, body []byte) error {
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	words := fmt.Sprintf("the server refuses the request (%d %s)", response.StatusCode, http.StatusText(response.StatusCode))
	if json.Unmarshal(body, &m) == nil {
		if isID(m.ID) {
			return nil
		}
		if m.Error.Message != "" {
			words += ": " + m.Error.Message
		}
	}
	return &refusal{words}
}

// busy returns the refusal of a server that has too much to do.
func busy(response *http.Response) *refusal {
	when := "later"
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		when = fmt.Sprintf("in %d s", seconds)
	}
	return &refusal{fmt.Sprintf("the server is busy (%d %s), and has done nothing: call again %s",
		response.StatusCode, http.StatusText(response.StatusCode), when)}
}

// maxPeek bounds how much of a body is read to know what it is about, in bytes.
const maxPeek = 64 << 10

// peek returns the beginning of the body of a response. The body can be read again.
func peek(response *http.Response) []byte {
	begin, _ := io.ReadAll(io.LimitReader(response.Body, maxPeek)) // an error comes again
	response.Body = &peekedBody{
		Reader: io.MultiReader(bytes.NewReader(begin), response.Body),
		Closer: response.Body,
	}
	return begin
}

// endingWith returns a context that ends with ctx or with life, whichever ends first. release must follow.
func endingWith(ctx, life context.Context) (both context.Context, release func()) {
	both, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	return both, func() {
		unhook()
		cancel(nil)
	}
}

// A releasingBody is a body whose request holds something until the body is closed.
type releasingBody struct {
	io.ReadCloser

	release func()
}

// Close implements io.Closer.
func (b *releasingBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// A peekedBody is a body whose beginning has been read.
type peekedBody struct {
	io.Reader
	io.Closer
}

// A boundedBody is a body of which no more than a number of bytes is read.
type boundedBody struct {
	io.ReadCloser

	room int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.room == 0 {
		return 0, errLongLine
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.room)])
	b.room -= n
	return n, err
}
