package commands

import (
	"context"
	"slices"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/tasks"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// menuPause bounds the pause between two attempts to register the menu.
const menuPause = 30 * time.Second

// RegisterMenu registers the menu of commands, and retries until Telegram accepts the
// menu or ctx ends.
func (h *Handler) RegisterMenu(ctx context.Context) {
	for failures := 1; ctx.Err() == nil; failures++ {
		h.o.Sender.Cooldowns.Await(ctx, outbox.Menu)
		err := h.RegisterMenuOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		h.o.Sender.Cooldowns.Note(outbox.Menu, err)
		h.o.Log.Warn("telegram: the menu is not registered", "err", h.o.Sender.Client.CleanError("register commands", err))
		tasks.Pause(ctx, max(tasks.Backoff(failures, menuPause), botapi.RetryAfter(err)))
	}
}

// RegisterMenuOnce registers the menu of commands, unless the menu is registered
// already.
func (h *Handler) RegisterMenuOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, botapi.CallTimeout)
	defer cancel()
	var menu []models.BotCommand
	for _, c := range h.list() {
		menu = append(menu, models.BotCommand{Command: c.name, Description: c.does})
	}
	have, err := h.o.Sender.Client.GetMyCommands(ctx, &bot.GetMyCommandsParams{})
	if err != nil || slices.Equal(have, menu) {
		return err
	}
	_, err = h.o.Sender.Client.SetMyCommands(ctx, &bot.SetMyCommandsParams{Commands: menu})
	return err
}
