package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	// telegramBound is how long one call of the Bot API may take.
	telegramBound = 10 * time.Second
	// maxTelegramReply is far more than the calls here return, in bytes.
	maxTelegramReply = 1 << 20

	newToken = "get the token from @BotFather (/token) and set BARECLAW_TELEGRAM_TOKEN"
)

// checkTelegram asks the Bot API who the bot is. It takes no updates, so that it is in
// nobody's way.
func checkTelegram(ctx context.Context, l *look) []Finding {
	if !l.cfg.TelegramToken.IsSet() || l.Report.Wrong("BARECLAW_TELEGRAM_API") {
		return nil
	}
	found := receiving(l)
	if l.Offline {
		return found
	}
	var me struct {
		Username string `json:"username"`
		ReadsAll bool   `json:"can_read_all_group_messages"`
		Joins    bool   `json:"can_join_groups"`
	}
	b := bot{api: l.cfg.TelegramAPI, token: l.cfg.TelegramToken.Reveal()}
	if err := b.call(ctx, "getMe", &me); err != nil {
		return append(found, unheard(b.api, err))
	}
	found = append(found, ok("The token is that of @%s.", me.Username))
	if me.Joins && !me.ReadsAll {
		found = append(found, note("telegram_privacy", "In groups the bot gets only what is addressed to it.",
			"Privacy mode is on: in a group it hears commands and answers to its own messages, nothing else.", "/setprivacy at @BotFather, then add it to the group anew"))
	}
	var hook struct {
		URL string `json:"url"`
	}
	if err := b.call(ctx, "getWebhookInfo", &hook); err != nil {
		return append(found, unheard(b.api, err))
	}
	if hook.URL != "" {
		found = append(found, problem("telegram_webhook", "A webhook is set for the bot, to "+host(hook.URL)+".",
			"Telegram sends everything there, and the gateway hears nothing.", "`curl \""+b.api+"/bot$BARECLAW_TELEGRAM_TOKEN/deleteWebhook\"`, if nothing else uses this bot"))
	}
	return found
}

// receiving tells how the gateway that runs gets on with Telegram.
func receiving(l *look) []Finding {
	h, err := l.health()
	switch {
	case err != nil:
		return nil // the check of the gateway says why
	case h.Telegram == nil:
		return []Finding{warning("telegram_off", "The gateway that runs serves no bot.", "It was started without a token.", "bareclaw restart")}
	}
	var found []Finding
	switch {
	case h.Telegram.Problem != "":
		found = append(found, problem("telegram_deaf", "The gateway receives nothing from Telegram: "+h.Telegram.Problem,
			"Messages stay with Telegram, for 24 hours.", "bareclaw logs"))
	case !h.Telegram.Ready:
		found = append(found, note("telegram_starting", "The gateway has not yet heard from Telegram.", "Its first poll is under way.", ""))
	}
	if n := h.Telegram.Failed; n > 0 {
		found = append(found, note("telegram_failed", fmt.Sprintf("%d deliveries to Telegram were given up since the gateway started.", n),
			"Telegram refused them for good, as when the bot was blocked.", "bareclaw logs"))
	}
	return found
}

// unheard says what it means that a call failed.
func unheard(api string, err error) Finding {
	if refused, isRefusal := errors.AsType[*botError](err); isRefusal && (refused.status == http.StatusUnauthorized || refused.status == http.StatusNotFound) {
		return problem("telegram_token", "Telegram does not know the token (BARECLAW_TELEGRAM_TOKEN): "+refused.Error()+".",
			"The bot hears and says nothing.", newToken)
	}
	return problem("telegram_unreachable", fmt.Sprintf("The Bot API at %s does not answer: %v.", host(api), err),
		"The bot hears and says nothing; what is sent to it waits with Telegram.", "check the network and, if one is needed, HTTPS_PROXY")
}

// host is the part of a URL that is safe to be shown.
func host(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return u.Host
}

// A bot calls the Bot API.
type bot struct{ api, token string }

// A botError is a refusal by the Bot API.
type botError struct {
	status int
	text   string
}

func (e *botError) Error() string { return fmt.Sprintf("%s (%d)", e.text, e.status) }

// call calls a method without parameters. Its errors do not hold the URL, of which the
// token is a part.
func (b bot) call(ctx context.Context, method string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, telegramBound)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.api+"/bot"+b.token+"/"+method, bytes.NewReader([]byte("{}")))
	if err != nil {
		return fmt.Errorf("%s: the address cannot be used", method)
	}
	req.Header.Set("Content-Type", "application/json")
	// No redirect is followed: it would tell the token to another server.
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer c.CloseIdleConnections()
	res, err := c.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, withoutURL(err))
	}
	defer func() { _ = res.Body.Close() }()
	var reply struct {
		OK          bool
		Description string
		Result      json.RawMessage
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxTelegramReply))
	if err != nil {
		return fmt.Errorf("%s: %w", method, withoutURL(err))
	}
	if err := json.Unmarshal(body, &reply); err != nil || !reply.OK {
		if reply.Description == "" {
			reply.Description = "it is no answer of the Bot API"
		}
		return &botError{status: res.StatusCode, text: reply.Description}
	}
	if err := json.Unmarshal(reply.Result, result); err != nil {
		return fmt.Errorf("%s: understand the answer: %w", method, err)
	}
	return nil
}

func withoutURL(err error) error {
	if e, isURL := errors.AsType[*url.Error](err); isURL {
		return e.Err
	}
	return err
}
