package doctor

import (
	"bareclaw/adapters/telegram/botapi"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

const (
	// telegramBound is the time limit for all calls of the Bot API together.
	telegramBound = 20 * time.Second

	newToken = "get the token from @BotFather (/token) and set BARECLAW_TELEGRAM_TOKEN"
)

// checkTelegram queries the Bot API for the bot. The check fetches no updates, which
// would take messages away from the gateway.
func checkTelegram(ctx context.Context, l *look) []Finding {
	if !l.cfg.TelegramToken.IsSet() || l.Report.Wrong("BARECLAW_TELEGRAM_API") {
		return nil
	}
	found := receiving(l)
	if l.Offline {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, telegramBound)
	defer cancel()
	api := l.cfg.TelegramAPI
	bot, err := botapi.New(botapi.Options{Token: l.cfg.TelegramToken.Reveal(), API: api})
	if err != nil {
		return append(found, unheard(api, err))
	}
	me, err := bot.Me(ctx)
	if err != nil {
		return append(found, unheard(api, err))
	}
	found = append(found, ok("The token is that of @%s.", me.Username))
	if me.CanJoinGroups && !me.CanReadAllGroupMessages {
		found = append(found, note("telegram_privacy", "In groups the bot gets only what is addressed to it.",
			"Privacy mode is on: in a group it hears commands and answers to its own messages, nothing else.", "/setprivacy at @BotFather, then add it to the group anew"))
	}
	hook, err := bot.GetWebhookInfo(ctx)
	if err != nil {
		return append(found, unheard(api, bot.CleanError("getWebhookInfo", err)))
	}
	if hook.URL != "" {
		found = append(found, problem("telegram_webhook", "A webhook is set for the bot, to "+host(hook.URL)+".",
			"Telegram sends everything there, and the gateway hears nothing.", "`curl \""+api+"/bot$BARECLAW_TELEGRAM_TOKEN/deleteWebhook\"`, if nothing else uses this bot"))
	}
	return found
}

// receiving reports the running gateway's connection to Telegram.
func receiving(l *look) []Finding {
	h, err := l.health()
	switch {
	case err != nil:
		return nil // checkGateway reports the reason
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

// unheard explains a failed call of the Bot API.
func unheard(api string, err error) Finding {
	if refused, isRefusal := errors.AsType[*botapi.Error](err); isRefusal && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusNotFound) {
		return problem("telegram_token", "Telegram does not know the token (BARECLAW_TELEGRAM_TOKEN): "+refused.Text+".",
			"The bot hears and says nothing.", newToken)
	}
	return problem("telegram_unreachable", fmt.Sprintf("The Bot API at %s does not answer: %v.", host(api), err),
		"The bot hears and says nothing; what is sent to it waits with Telegram.", "check the network and, if one is needed, HTTPS_PROXY")
}

// host returns the host of a URL, without secrets.
func host(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return u.Host
}
