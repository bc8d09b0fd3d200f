package commands

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core/commands"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/wait"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

const menuPause = 30 * time.Second

// maxMenu is how many commands Telegram takes.
const maxMenu = 100

// maxDescription bounds the description of a command in the menu, in UTF-16 units.
const maxDescription = 256

// menuName is the form of the names that Telegram takes. Other commands can be written all the same.
var menuName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9_]{1,32}$`) })

// KeepMenu registers the menu of commands, now and after each change, until ctx ends.
func (h *Handler) KeepMenu(ctx context.Context) {
	changed := h.Table.Watch()
	for {
		h.RegisterMenu(ctx)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

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
	menu := menuOf(h.rows())
	have, err := h.Sender.Client.GetMyCommands(ctx, &bot.GetMyCommandsParams{})
	if err != nil || slices.Equal(have, menu) {
		return err
	}
	_, err = h.Sender.Client.SetMyCommands(ctx, &bot.SetMyCommandsParams{Commands: menu})
	return err
}

// menuOf returns the commands that Telegram's menu can have.
func menuOf(rows []commands.Command) (menu []models.BotCommand) {
	for _, c := range rows {
		if !menuName().MatchString(c.Name) || len(menu) == maxMenu {
			continue
		}
		menu = append(menu, models.BotCommand{
			Command:     c.Name,
			Description: mdtext.Brief(c.Help, maxDescription),
		})
	}
	return menu
}
