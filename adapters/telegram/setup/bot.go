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
	"bareclaw/internal/steps"
	"bareclaw/internal/term"
)

// connect finds the token of the bot, and meets the bot.
func (r *run) connect(ctx context.Context, w steps.Wizard) (steps.Outcome, error) {
	has := w.Current(varBot)
	if r.flags.NoTelegram {
		return steps.Skipped("as asked (--no-telegram)"), nil
	}
	if !w.Asks() && has == "" {
		return steps.Skipped("no token was given (--telegram-token-file)"), nil
	}
	q := steps.Question{
		Text:   "Token of your Telegram bot",
		Has:    "none: no Telegram",
		Secret: true,
		Help:   "In Telegram, tell @BotFather /newbot; it gives you a token such as 123456:ABC-DEF. What you type is not shown.",
	}
	if has != "" {
		q.Has = "keep the one that is set"
	}
	err := w.Settle(ctx, varBot, q, has, func(token string) error {
		if token == "" {
			return nil
		}
		if err := config.Check(varBot, token); err != nil {
			return steps.Trouble("this does not look like a bot's token", "it is what @BotFather wrote, as 123456:ABC-DEF")
		}
		return r.meet(ctx, w, token)
	})
	switch {
	case errors.Is(err, steps.ErrSkipped):
		return steps.Skipped("Telegram stays as it is"), nil
	case err != nil:
		w.Forget(varBot) // it is not known to work
		return steps.Outcome{}, err
	case r.bot.Username == "":
		return steps.Skipped("no bot"), nil
	}
	found := fmt.Sprintf("this is @%s (%s)", term.SafeLine(r.bot.Username), term.SafeLine(r.bot.FirstName))
	return steps.DoneIf(has != r.bot.token, found), nil
}

// meet asks Telegram for the bot of a token, and chooses the token.
func (r *run) meet(ctx context.Context, w steps.Wizard, token string) error {
	client, err := botapi.New(botapi.Options{Token: token, API: strings.TrimRight(cmp.Or(w.Current(varAPI), config.DefaultOf(varAPI)), "/")})
	if err != nil {
		return err
	}
	me, err := client.Me(ctx)
	refusal, refused := errors.AsType[*botapi.Error](err)
	switch {
	case refused && (refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusNotFound):
		return steps.Trouble("Telegram does not know this token", "look at what @BotFather wrote, or have it make a new one with /token")
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return steps.Trouble("Telegram could not be asked: "+term.SafeLine(err.Error()), "look at the network, and run this again")
	case me.Username == "":
		return steps.Trouble("Telegram gave the bot no name", "have @BotFather make another bot")
	}
	r.bot = connection{me, client, token}
	return w.Choose(varBot, token)
}

// A connection is a bot whose token Telegram accepts; the zero value is none.
type connection struct {
	models.User
	client *botapi.Client
	token  string
}
