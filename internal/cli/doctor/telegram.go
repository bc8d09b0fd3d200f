package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"bareclaw/adapters/telegram/botapi"
)

const telegramBound = 20 * time.Second

// checkTelegram queries the Bot API for the bot. The check fetches no updates, which
// would take messages away from the gateway.
func checkTelegram(ctx context.Context, r *report) {
	if !r.cfg.TelegramToken.IsSet() || r.Report.Wrong("BARECLAW_TELEGRAM_API") {
		return
	}
	receiving(r)
	if !r.Offline {
		askTelegram(ctx, r)
	}
}

func askTelegram(ctx context.Context, r *report) {
	ctx, cancel := context.WithTimeout(ctx, telegramBound)
	defer cancel()
	api := r.cfg.TelegramAPI
	bot, err := botapi.New(botapi.Options{Token: r.cfg.TelegramToken.Reveal(), API: api})
	if err != nil {
		unheard(r, err)
		return
	}
	me, err := bot.Me(ctx)
	if err != nil {
		unheard(r, err)
		return
	}
	r.ok("The token is that of @%s.", me.Username)
	if me.CanJoinGroups && !me.CanReadAllGroupMessages {
		r.note("telegram_privacy", "In groups the bot gets only what is addressed to it.",
			"Privacy mode is on: in a group it hears commands and answers to its own messages, nothing else.", "/setprivacy at @BotFather, then add it to the group anew")
	}
	hook, err := bot.GetWebhookInfo(ctx)
	switch {
	case err != nil:
		unheard(r, bot.CleanError("getWebhookInfo", err))
	case hook.URL != "":
		r.problem("telegram_webhook", "A webhook is set for the bot, to "+host(hook.URL)+".",
			"Telegram sends everything there, and the gateway hears nothing.", "`curl \""+api+"/bot$BARECLAW_TELEGRAM_TOKEN/deleteWebhook\"`, if nothing else uses this bot")
	}
}

func receiving(r *report) {
	switch h, err := r.health(); {
	case err != nil: // checkGateway reports the reason
	case h.Telegram == nil:
		r.warning("telegram_off", "The gateway that runs serves no bot.", "It was started without a token.", "bareclaw restart")
	case h.Telegram.Failed > 0:
		r.note("telegram_failed", fmt.Sprintf("%d deliveries to Telegram were given up since the gateway started.", h.Telegram.Failed),
			"Telegram refused them for good, as when the bot was blocked.", "bareclaw logs")
	}
}

func unheard(r *report, err error) {
	refused, isRefusal := errors.AsType[*botapi.Error](err)
	if isRefusal && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusNotFound) {
		r.problem("telegram_token", "Telegram does not know the token (BARECLAW_TELEGRAM_TOKEN): "+refused.Text+".",
			"The bot hears and says nothing.", "get the token from @BotFather (/token) and set BARECLAW_TELEGRAM_TOKEN")
		return
	}
	r.problem("telegram_unreachable", fmt.Sprintf("The Bot API at %s does not answer: %v.", host(r.cfg.TelegramAPI), err),
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
