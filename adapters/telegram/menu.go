package telegram

import (
	"context"
	"slices"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// introduce learns the bot's name and registers its commands, again and again until
// Telegram has them. Those that it has already are left alone.
func (a *Adapter) introduce(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		err := a.introduceOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		a.o.Log.Warn("telegram: commands not registered", "err", a.client.clean("register commands", err))
		pause(ctx, pollPause(err, failures))
	}
}

func (a *Adapter) introduceOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if a.botName() == "" {
		me, err := a.client.GetMe(ctx)
		if err != nil {
			return err
		}
		a.health.named(me.Username)
	}
	want := a.menu()
	have, err := a.client.GetMyCommands(ctx, &bot.GetMyCommandsParams{})
	if err != nil || slices.Equal(have, want) {
		return err
	}
	_, err = a.client.SetMyCommands(ctx, &bot.SetMyCommandsParams{Commands: want})
	return err
}

// menu is what Telegram offers when somebody types a slash.
func (a *Adapter) menu() []models.BotCommand {
	var menu []models.BotCommand
	for _, c := range a.commands() {
		menu = append(menu, models.BotCommand{Command: c.name, Description: c.does})
	}
	return menu
}

// botName returns the bot's user name, empty until Telegram has told it.
func (a *Adapter) botName() string {
	a.health.mu.Lock()
	defer a.health.mu.Unlock()
	return a.health.bot
}

func (h *health) named(bot string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bot = bot
}
