package telegram

import (
	"context"
	"slices"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/tasks"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// register registers the bot's commands, again and again until Telegram has them.
// Where it has them already it is left alone.
func (a *Adapter) register(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		a.cooldowns.await(ctx, scopeMenu)
		err := a.registerOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if d := botapi.RetryAfter(err); d > 0 {
			a.coolDown(scopeMenu, d)
		}
		a.o.Log.Warn("telegram: commands not registered", "err", a.client.CleanError("register commands", err))
		tasks.Pause(ctx, pollPause(err, failures))
	}
}

func (a *Adapter) registerOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, botapi.CallTimeout)
	defer cancel()
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
