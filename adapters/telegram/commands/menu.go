package commands

import (
	"context"
	"slices"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/internal/wait"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

const menuPause = 30 * time.Second

// RegisterMenu registers the menu of commands, and retries until Telegram accepts the
// menu or ctx ends.
func (h *Handler) RegisterMenu(ctx context.Context) {
	pauses := throttle.NewBackoff(menuPause)
	for ctx.Err() == nil {
		h.Sender.Cooldowns.Await(ctx, outbox.Menu)
		err := h.RegisterMenuOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		h.Sender.Cooldowns.Note(outbox.Menu, err)
		clean := h.Sender.Client.CleanError("register commands", err)
		h.Log.Warn("telegram: the menu is not registered", "err", clean)
		pause := max(pauses.Next(), botapi.RetryAfter(err))
		_ = wait.Sleep(ctx, pause)
	}
}

// RegisterMenuOnce registers the menu of commands, unless the menu is registered
// already.
func (h *Handler) RegisterMenuOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, botapi.CallTimeout)
	defer cancel()
	var menu []models.BotCommand
	for _, c := range h.commands {
		row := models.BotCommand{
			Command:     c.Name,
			Description: c.Help,
		}
		menu = append(menu, row)
	}
	have, err := h.Sender.Client.GetMyCommands(ctx, &bot.GetMyCommandsParams{})
	if err != nil || slices.Equal(have, menu) {
		return err
	}
	_, err = h.Sender.Client.SetMyCommands(ctx, &bot.SetMyCommandsParams{Commands: menu})
	return err
}
