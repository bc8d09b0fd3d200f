package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"bareclaw/adapters"
	"bareclaw/adapters/telegram/botapi"
)

// checkTime bounds the questions of a check to Telegram.
const checkTime = 20 * time.Second

// checkBot asks the Bot API about the bot. The check fetches no updates, which would take messages
// away from the gateway.
func checkBot(ctx context.Context, e adapters.Examination) {
	if e.IsWrong("BARECLAW_TELEGRAM_API") {
		return
	}
	checkDeliveries(e)
	if !e.Offline {
		askBot(ctx, e)
	}
}

func checkDeliveries(e adapters.Examination) {
	if e.Running == nil {
		return
	}
	if failed, _ := e.Running.Facts["failed"].(float64); failed > 0 {
		e.Note("telegram_failed", fmt.Sprintf("%.0f deliveries to Telegram were given up since the gateway started.", failed),
			"Telegram refused them for good, as when the bot was blocked.", "bareclaw logs")
	}
}

func askBot(ctx context.Context, e adapters.Examination) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	api := string(e.Config.Telegram.API)
	bot, err := botapi.New(botapi.Options{Token: e.Config.Telegram.Token.Reveal(), API: api})
	if err != nil {
		reportUnheard(e, err)
		return
	}
	me, err := bot.Me(ctx)
	if err != nil {
		reportUnheard(e, err)
		return
	}
	e.OK("The token is that of @%s.", me.Username)
	if me.CanJoinGroups && !me.CanReadAllGroupMessages {
		e.Note("telegram_privacy", "In groups the bot gets only what is addressed to it.",
			"Privacy mode is on: in a group it hears commands and answers to its own messages, nothing else.", "/setprivacy at @BotFather, then add it to the group anew")
	}
	hook, err := bot.GetWebhookInfo(ctx)
	switch {
	case err != nil:
		reportUnheard(e, bot.CleanError("getWebhookInfo", err))
	case hook.URL != "":
		e.Problem("telegram_webhook", "A webhook is set for the bot, to "+host(hook.URL)+".",
			"Telegram sends everything there, and the gateway hears nothing.", "`curl \""+api+"/bot$BARECLAW_TELEGRAM_TOKEN/deleteWebhook\"`, if nothing else uses this bot")
	}
}

// reportUnheard reports that Telegram refuses the bot, or does not answer.
func reportUnheard(e adapters.Examination, err error) {
	refused, isRefusal := errors.AsType[*botapi.Error](err)
	if isRefusal && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusNotFound) {
		e.Problem("telegram_token", "Telegram does not know the token (BARECLAW_TELEGRAM_TOKEN): "+refused.Text+".",
			"The bot hears and says nothing.", "get the token from @BotFather (/token) and set BARECLAW_TELEGRAM_TOKEN")
		return
	}
	e.Problem("telegram_unreachable", fmt.Sprintf("The Bot API at %s does not answer: %v.", host(string(e.Config.Telegram.API)), err),
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
