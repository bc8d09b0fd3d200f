package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-telegram/bot"
)

const (
	// callTimeout bounds one call of the API that carries no file.
	callTimeout = 30 * time.Second
	// pollGrace is how much longer than asked for a poll may take before it counts as
	// hanging.
	pollGrace = 10 * time.Second
	// maxUpdatesBytes bounds the answer to a poll: 100 updates of some 4 kB, and room.
	maxUpdatesBytes = 16 << 20
)

// A client speaks the Bot API: the library's typed methods, and getUpdates, which
// the library keeps to itself (and would take as handled before it is).
type client struct {
	*bot.Bot
	http    *http.Client
	polls   *http.Client // of its own, so that a hanging one can be dropped with its connection
	methods string       // URL that a method's name is appended to; holds the token
	files   string       // likewise for the path of a file
	token   string
}

func newClient(o Options) (*client, error) {
	h := o.HTTP
	if h == nil {
		h = &http.Client{Transport: transport()}
	}
	b, err := bot.New(o.Token, bot.WithSkipGetMe(), bot.WithServerURL(o.API), bot.WithHTTPClient(o.PollTimeout, h),
		bot.WithErrorsHandler(func(error) {})) // each call returns its own
	if err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	return &client{
		Bot: b, http: h, polls: &http.Client{Transport: transport()}, token: o.Token,
		methods: o.API + "/bot" + o.Token + "/", files: o.API + "/file/bot" + o.Token + "/",
	}, nil
}

func transport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: maxInFlight,
		IdleConnTimeout:     50 * time.Second, // below that of Telegram's servers
		TLSHandshakeTimeout: 10 * time.Second,
	}
}

// allowedUpdates are the kinds of updates that are asked for. What is not listed is
// not sent: https://core.telegram.org/bots/api#getupdates
var allowedUpdates = []string{"message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation"}

// updates asks for updates from offset on, each as Telegram wrote it. It blocks for
// the poll timeout if there are none. https://core.telegram.org/bots/api#getupdates
func (c *client) updates(ctx context.Context, offset int64, timeout time.Duration) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout+pollGrace, errPollHung)
	defer cancel()
	body, err := json.Marshal(struct {
		Offset  int64    `json:"offset,omitempty"`
		Timeout int      `json:"timeout"`
		Allowed []string `json:"allowed_updates"`
	}{offset, int(timeout.Seconds()), allowedUpdates})
	if err != nil {
		return nil, fmt.Errorf("getUpdates: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.methods+"getUpdates", bytes.NewReader(body))
	if err != nil {
		return nil, c.clean("getUpdates", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.polls.Do(req)
	if err != nil {
		c.polls.CloseIdleConnections()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, c.clean("getUpdates", err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxUpdatesBytes))
	if err != nil {
		return nil, c.clean("getUpdates", err)
	}
	return decodeUpdates(res.StatusCode, data)
}

// decodeUpdates reads the answer to getUpdates.
func decodeUpdates(status int, data []byte) ([]json.RawMessage, error) {
	var answer struct {
		OK          bool              `json:"ok"`
		Result      []json.RawMessage `json:"result"`
		ErrorCode   int               `json:"error_code"`
		Description string            `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, &apiError{method: "getUpdates", status: status, text: "no JSON: " + http.StatusText(status)}
	}
	if !answer.OK {
		return nil, &apiError{
			method: "getUpdates", status: answer.ErrorCode, text: answer.Description,
			retryAfter: time.Duration(answer.Parameters.RetryAfter) * time.Second,
		}
	}
	return answer.Result, nil
}

// clean takes the token out of an error, which may show the URL.
func (c *client) clean(doing string, err error) error {
	if text := err.Error(); strings.Contains(text, c.token) {
		return fmt.Errorf("%s: %s", doing, strings.ReplaceAll(text, c.token, "***"))
	}
	return fmt.Errorf("%s: %w", doing, err)
}
