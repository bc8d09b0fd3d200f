package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-telegram/bot/models"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/core/config"
	"bareclaw/internal/term"
)

func chooseBot(ctx context.Context, w *wizard) (Outcome, error) {
	has := w.current(varBot)
	if w.NoTelegram {
		return skipped("as asked (--no-telegram)"), nil
	}
	if !w.asks() && has == "" {
		return skipped("no token was given (--telegram-token-file)"), nil
	}
	q := question{
		text: "Token of your Telegram bot", has: "none: no Telegram", secret: true,
		help: "In Telegram, tell @BotFather /newbot; it gives you a token such as 123456:ABC-DEF. What you type is not shown.",
	}
	if has != "" {
		q.has = "keep the one that is set"
	}
	err := w.settle(ctx, varBot, q, has, func(token string) error {
		if token == "" {
			return nil
		}
		if err := config.Check(varBot, token); err != nil {
			return trouble("this does not look like a bot's token", "it is what @BotFather wrote, as 123456:ABC-DEF")
		}
		return meetBot(ctx, w, token)
	})
	switch {
	case errors.Is(err, errSkip):
		return skipped("Telegram stays as it is"), nil
	case err != nil:
		delete(w.choices, varBot) // it is not known to work
		return Outcome{}, err
	case w.bot.Username == "":
		return skipped("no bot"), nil
	}
	found := fmt.Sprintf("this is @%s (%s)", term.SafeLine(w.bot.Username), term.SafeLine(w.bot.FirstName))
	return doneIf(has != w.bot.token, found), nil
}

func meetBot(ctx context.Context, w *wizard, token string) error {
	client, err := botapi.New(botapi.Options{Token: token, API: strings.TrimRight(cmp.Or(w.current(varAPI), config.DefaultOf(varAPI)), "/")})
	if err != nil {
		return err
	}
	me, err := client.Me(ctx)
	r, refused := errors.AsType[*botapi.Error](err)
	switch {
	case refused && (r.Status == http.StatusUnauthorized || r.Status == http.StatusNotFound):
		return trouble("Telegram does not know this token", "look at what @BotFather wrote, or have it make a new one with /token")
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return trouble("Telegram could not be asked: "+term.SafeLine(err.Error()), "look at the network, and run this again")
	case me.Username == "":
		return trouble("Telegram gave the bot no name", "have @BotFather make another bot")
	}
	w.bot = telegramBot{me, client, token}
	return w.choose(varBot, token)
}

// A telegramBot is a bot whose token Telegram accepts.
type telegramBot struct {
	models.User
	client *botapi.Client
	token  string
}
