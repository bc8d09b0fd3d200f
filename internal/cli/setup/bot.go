package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// callLimit bounds a call of the Bot API beyond the time that it was asked to wait.
const callLimit = 20 * time.Second

// A bot speaks the few methods of the Bot API that are needed before there is a
// gateway. Its token is in no error.
type bot struct {
	api, token string
	http       *http.Client

	Name     string // "" until who says it
	Username string
}

// newBot makes the bot of a token, which need not be good, at a server of the Bot API.
func newBot(api, token string) bot {
	return bot{api: strings.TrimRight(api, "/"), token: token, http: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second},
		// A redirect would tell the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// A refusal is what the Bot API says when it does not do something.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("Telegram says %d: %s", r.status, r.text) }

// A tgUser is who sends a message.
type tgUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
}

// A tgMessage is what is needed of a message.
type tgMessage struct {
	From tgUser `json:"from"`
	Chat struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
	} `json:"chat"`
	Text string `json:"text"`
}

// A tgUpdate is what is needed of an update.
type tgUpdate struct {
	ID      int64      `json:"update_id"`
	Message *tgMessage `json:"message"`
}

// who asks who the bot is: https://core.telegram.org/bots/api#getme
func (b *bot) who(ctx context.Context) error {
	var u tgUser
	if err := b.call(ctx, 0, "getMe", struct{}{}, &u); err != nil {
		return err
	}
	b.Name, b.Username = u.FirstName, u.Username
	return nil
}

// updates returns what waits for the bot from offset on, 100 updates at most, and
// waits that long if there is nothing. What is below the offset is acknowledged: the
// gateway will not see it. https://core.telegram.org/bots/api#getupdates
func (b *bot) updates(ctx context.Context, offset int64, wait time.Duration) ([]tgUpdate, error) {
	var updates []tgUpdate
	err := b.call(ctx, wait, "getUpdates", struct {
		Offset  int64 `json:"offset,omitempty"`
		Timeout int   `json:"timeout"`
		// None: all kinds that are sent by default, which are more than the gateway
		// wants, so that nothing which comes meanwhile is kept from it.
		Allowed []string `json:"allowed_updates"`
	}{offset, int(wait.Seconds()), []string{}}, &updates)
	return updates, err
}

// send sends a text to a chat: https://core.telegram.org/bots/api#sendmessage
func (b *bot) send(ctx context.Context, chat int64, text string) error {
	return b.call(ctx, 0, "sendMessage", map[string]any{"chat_id": chat, "text": text}, &json.RawMessage{})
}

// call calls a method and reads what it returns into result.
func (b *bot) call(ctx context.Context, wait time.Duration, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, wait+callLimit)
	defer cancel()
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.api+"/bot"+b.token+"/"+method, bytes.NewReader(body))
	if err != nil {
		return b.clean(method, err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := b.http.Do(req)
	if err != nil {
		return b.clean(method, err)
	}
	defer func() { _ = res.Body.Close() }()
	const enough = 16 << 20
	data, err := io.ReadAll(io.LimitReader(res.Body, enough))
	if err != nil {
		return b.clean(method, err)
	}
	var answer struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Description string          `json:"description"`
	}
	switch err := json.Unmarshal(data, &answer); {
	case err != nil:
		return &refusal{res.StatusCode, "an answer that is no JSON"}
	case !answer.OK:
		return &refusal{res.StatusCode, answer.Description}
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return fmt.Errorf("%s: understand the answer: %w", method, err)
	}
	return nil
}

// clean says what was done, and takes the token out of an error, which may show the URL.
func (b *bot) clean(doing string, err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err // why; what was asked for is known
	}
	if text := err.Error(); strings.Contains(text, b.token) {
		return fmt.Errorf("%s: %s", doing, strings.ReplaceAll(text, b.token, "***"))
	}
	return fmt.Errorf("%s: %w", doing, err)
}
