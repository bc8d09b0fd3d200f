package setup

import (
	"context"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"bareclaw/adapters/telegram/botapi"
)

// A telegramBot is a bot whose token Telegram accepts.
type telegramBot struct {
	models.User
	client *botapi.Client
	token  string
}

// findBot asks the Bot API for the bot of a token.
func findBot(ctx context.Context, api, token string) (telegramBot, error) {
	client, err := botapi.New(botapi.Options{Token: token, API: strings.TrimRight(api, "/")})
	if err != nil {
		return telegramBot{}, err
	}
	me, err := client.Me(ctx)
	return telegramBot{me, client, token}, err
}

// updates returns up to 100 updates from offset on, and waits for the first update.
// Updates below the offset are acknowledged: the gateway will not see them.
func (b telegramBot) updates(ctx context.Context, offset int64, wait time.Duration) ([]models.Update, error) {
	raw, err := b.client.Updates(ctx, offset, wait)
	var all []models.Update
	for _, r := range raw {
		u, _ := botapi.DecodeUpdate(r) // an update that cannot be read is not the tap
		all = append(all, u)
	}
	return all, err
}

// send sends a text to a chat.
func (b telegramBot) send(ctx context.Context, chat int64, text string) error {
	_, err := b.client.SendMessage(ctx, &bot.SendMessageParams{ChatID: chat, Text: text})
	return err
}
