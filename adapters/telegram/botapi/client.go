// Package botapi is the client of Telegram's Bot API, on the go-telegram/bot library.
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
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

const (
	// CallTimeout bounds one call of the API that carries no file.
	CallTimeout = 30 * time.Second
	// PollGrace is how much longer than asked for a poll may take before it counts as
	// hanging.
	PollGrace = 10 * time.Second
	// maxUpdatesBytes bounds the answer to a poll: 100 updates of some 4 kB, and room.
	maxUpdatesBytes = 16 << 20
)

// DefaultAPI is where Telegram's servers answer.
const DefaultAPI = "https://api.telegram.org"

// maxConns is how many connections are kept for the next calls.
const maxConns = 16

// Options are what a Client needs. Only Token is required.
type Options struct {
	Token       string        // of the bot; never logged
	API         string        // base URL of the Bot API; empty means DefaultAPI
	PollTimeout time.Duration // how long Telegram may hold an empty poll
	HTTP        *http.Client  // nil: one of its own
}

// A Client speaks the Bot API: the library's typed methods, and getUpdates, which
// the library keeps to itself (and would take as handled before it is).
type Client struct {
	*bot.Bot
	Http    *http.Client
	Polls   *http.Client // of its own, so that a hanging one can be dropped with its connection
	methods string       // URL that a method's name is appended to; holds the token
	Files   string       // likewise for the path of a file
	token   string
	Grace   time.Duration
}

// New returns a client. It makes no network call.
func New(o Options) (*Client, error) {
	h := &http.Client{Transport: transport(), CheckRedirect: stayHere}
	if o.HTTP != nil {
		own := *o.HTTP
		h, own.CheckRedirect = &own, stayHere
	}
	b, err := bot.New(o.Token, bot.WithSkipGetMe(), bot.WithServerURL(o.API), bot.WithHTTPClient(o.PollTimeout, answering{h}),
		bot.WithErrorsHandler(func(error) {})) // each call returns its own
	if err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	return &Client{
		Bot: b, Http: h, Polls: &http.Client{Transport: polling(), CheckRedirect: stayHere}, token: o.Token, Grace: PollGrace,
		methods: o.API + "/bot" + o.Token + "/", Files: o.API + "/file/bot" + o.Token + "/",
	}, nil
}

// stayHere follows no redirect: it would tell the token to another server, as a part
// of the URL that it comes from.
func stayHere(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func transport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: maxConns,
		IdleConnTimeout:     50 * time.Second, // below that of Telegram's servers
		TLSHandshakeTimeout: 10 * time.Second,
	}
}

// polling is for one call at a time. It does without HTTP/2, where a call that is
// given up leaves the connection to the next one, dead as it may be.
func polling() *http.Transport {
	t := transport()
	t.ForceAttemptHTTP2, t.MaxIdleConnsPerHost = false, 1
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	return t
}

// allowedUpdates are the kinds of updates that are asked for. What is not listed is
// not sent: https://core.telegram.org/bots/api#getupdates
var allowedUpdates = []string{"message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation"}

// Updates asks for updates from offset on, each as Telegram wrote it. It blocks for
// the poll timeout if there are none. https://core.telegram.org/bots/api#getupdates
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

// Me asks who the bot is.
func (c *Client) Me(ctx context.Context) (models.User, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CallTimeout, ErrPollHung)
	defer cancel()
	var u models.User
	return u, c.call(ctx, "getMe", struct{}{}, &u)
}

// call calls a method of the API on the connection of the polls, and reads what it
// returns into result.
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
	return decodeAnswer(method, res.StatusCode, data, result)
}

// cut is what a call returns whose connection broke, or was given up.
func (c *Client) cut(ctx context.Context, method string, err error) error {
	c.Polls.CloseIdleConnections()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return c.CleanError(method, err)
}

// decodeAnswer reads the answer to a call: https://core.telegram.org/bots/api#making-requests
func decodeAnswer(method string, status int, data []byte, result any) error {
	var answer struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		ErrorCode   int             `json:"error_code"`
		Description string          `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return &Error{Method: method, Status: status, Text: "no JSON: " + http.StatusText(status)}
	}
	if !answer.OK {
		return &Error{
			Method: method, Status: answer.ErrorCode, Text: answer.Description,
			RetryAfter: time.Duration(answer.Parameters.RetryAfter) * time.Second,
		}
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return &Error{Method: method, Status: status, Text: "unexpected JSON"}
	}
	return nil
}

// CleanError says what was done, and takes the token out of an error, which may show the URL.
func (c *Client) CleanError(doing string, err error) error {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		err = request.Err // why; what was asked for is known
	}
	if text := err.Error(); strings.Contains(text, c.token) {
		return fmt.Errorf("%s: %s", doing, strings.ReplaceAll(text, c.token, "***"))
	}
	return fmt.Errorf("%s: %w", doing, err)
}
