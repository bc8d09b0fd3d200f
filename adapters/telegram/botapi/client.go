// Package botapi is a client of Telegram's Bot API, based on the go-telegram/bot
// library.
package botapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

const (
	// CallTimeout is the timeout of an API call without a file.
	CallTimeout = 30 * time.Second
	// PollGrace is added to the requested poll timeout; a poll that takes longer counts
	// as hanging.
	PollGrace = 10 * time.Second
	// maxUpdatesBytes limits the response to a poll: 100 updates of about 4 kB, with a
	// margin.
	maxUpdatesBytes = 16 << 20
)

// DefaultAPI is the base URL of Telegram's own Bot API servers.
const DefaultAPI = "https://api.telegram.org"

const maxConns = 16

// Options configure a Client. Only Token is required.
type Options struct {
	Token       string        // the bot's token; never logged
	API         string        // base URL of the Bot API; empty means DefaultAPI
	PollTimeout time.Duration // how long Telegram may hold a poll without updates
	HTTP        *http.Client  // nil for a new client
}

// A Client calls the Bot API: through the library's typed methods, and through a
// separate getUpdates, because the library hides getUpdates and would confirm updates
// before the gateway has handled the updates.
type Client struct {
	*bot.Bot
	Http    *http.Client
	Polls   *http.Client // separate, to drop a hanging poll together with the connection
	methods string       // URL prefix of API methods; contains the token
	Files   string       // URL prefix of file paths; contains the token
	token   string
	Grace   time.Duration
}

// New returns a client. New makes no network call.
func New(o Options) (*Client, error) {
	h := &http.Client{Transport: transport(), CheckRedirect: stayHere}
	if o.HTTP != nil {
		own := *o.HTTP
		h, own.CheckRedirect = &own, stayHere
	}
	b, err := bot.New(o.Token, bot.WithSkipGetMe(), bot.WithServerURL(o.API), bot.WithHTTPClient(o.PollTimeout, answering{h}),
		bot.WithErrorsHandler(func(error) {})) // unused: each call returns errors directly
	if err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	return &Client{
		Bot:     b,
		Http:    h,
		Polls:   &http.Client{Transport: polling(), CheckRedirect: stayHere},
		token:   o.Token,
		Grace:   PollGrace,
		methods: o.API + "/bot" + o.Token + "/",
		Files:   o.API + "/file/bot" + o.Token + "/",
	}, nil
}

// stayHere keeps an HTTP client from following redirects: a redirected request would
// reveal the token to another server, in the URL of the Referer header.
func stayHere(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func transport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: maxConns,
		IdleConnTimeout:     50 * time.Second, // shorter than the idle timeout of Telegram's servers
		TLSHandshakeTimeout: 10 * time.Second,
	}
}

// polling returns a transport for one call at a time, without HTTP/2. In HTTP/2 an
// abandoned call leaves the connection, possibly dead, to the next call.
func polling() *http.Transport {
	t := transport()
	t.ForceAttemptHTTP2, t.MaxIdleConnsPerHost = false, 1
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	return t
}

// allowedUpdates lists the requested kinds of updates. Telegram sends no other kinds:
// https://core.telegram.org/bots/api#getupdates
var allowedUpdates = []string{"message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation"}

// Updates requests the updates from offset on, each returned as raw JSON. Without
// updates the call blocks for the poll timeout.
// https://core.telegram.org/bots/api#getupdates
func (c *Client) Updates(ctx context.Context, offset int64, timeout time.Duration) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout+c.Grace, ErrPollHung)
	defer cancel()
	var updates []json.RawMessage
	return updates, c.call(ctx, "getUpdates", struct {
		Offset  int64    `json:"offset,omitempty"`
		Timeout int      `json:"timeout"`
		Allowed []string `json:"allowed_updates"`
	}{offset, int(timeout.Seconds()), allowedUpdates}, &updates)
}

// Me returns the bot's own user.
func (c *Client) Me(ctx context.Context) (models.User, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CallTimeout, ErrPollHung)
	defer cancel()
	var u models.User
	return u, c.call(ctx, "getMe", struct{}{}, &u)
}

// call calls an API method on the connection for polls and decodes the response into
// result.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.methods+method, bytes.NewReader(body))
	if err != nil {
		return c.CleanError(method, err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.Polls.Do(req)
	if err != nil {
		return c.cut(ctx, method, err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxUpdatesBytes))
	if err != nil {
		return c.cut(ctx, method, err)
	}
	a, ok := decodeAnswer(data)
	switch {
	case !ok:
		return &Error{Method: method, Status: res.StatusCode, Text: "no JSON: " + http.StatusText(res.StatusCode)}
	case !*a.OK:
		return &Error{Method: method, Status: a.ErrorCode, Text: a.Description, RetryAfter: time.Duration(a.Parameters.RetryAfter) * time.Second}
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return &Error{Method: method, Status: res.StatusCode, Text: "unexpected JSON"}
	}
	return nil
}

// cut returns the error of a call after a broken connection or an abandoned poll.
func (c *Client) cut(ctx context.Context, method string, err error) error {
	c.Polls.CloseIdleConnections()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return c.CleanError(method, err)
}

// CleanError prefixes err with the action and removes the token, since errors may
// contain the URL.
func (c *Client) CleanError(doing string, err error) error {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		err = request.Err // the cause, without method and URL
	}
	if text := err.Error(); strings.Contains(text, c.token) {
		return fmt.Errorf("%s: %s", doing, strings.ReplaceAll(text, c.token, "***"))
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// maxAnswerBytes limits the response to a call: enough for a message with the replied-to
// message, with a margin.
const maxAnswerBytes = 4 << 20

// answering is the HTTP client of the bot library. The library copies unreadable
// responses into errors, and errors reach the ledger and people. An unreadable response
// may be a proxy's page that shows the URL with the token, hence answering reports only
// the status.
type answering struct{ http *http.Client }

// Do sends a request and reads the whole response.
func (c answering) Do(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req) //nolint:gosec // the library makes the requests, for the address of the settings
	if err != nil {
		return nil, err // the library removes the token
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes))
	_ = res.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if _, ok := decodeAnswer(data); !ok {
		data = fmt.Appendf(nil, `{"ok":false,"error_code":%d,"description":"the answer is not one of the Bot API: status %d %s"}`,
			http.StatusBadGateway, res.StatusCode, http.StatusText(res.StatusCode))
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	return res, nil
}

// An answer is the response to a call:
// https://core.telegram.org/bots/api#making-requests
type answer struct {
	OK          *bool           `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter      int `json:"retry_after"`
		MigrateToChatID int `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// decodeAnswer reports whether data is a response that the library can decode too.
func decodeAnswer(data []byte) (a answer, ok bool) {
	err := json.Unmarshal(data, &a)
	return a, err == nil && a.OK != nil
}

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
// none. For a TooManyRequestsError the delay is at least a second.
func RetryAfter(err error) time.Duration {
	tooMany, api := (*bot.TooManyRequestsError)(nil), (*Error)(nil)
	switch {
	case errors.As(err, &tooMany):
		return max(time.Second, time.Duration(tooMany.RetryAfter)*time.Second)
	case errors.As(err, &api):
		return api.RetryAfter
	}
	return 0
}
