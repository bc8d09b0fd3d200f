package telegram

import (
	"time"

	"bareclaw/adapters"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/setup"
	"bareclaw/core/config"
)

// Kind returns what the gateway and its command line need to know of this adapter.
func Kind() adapters.Kind {
	return adapters.Kind{
		Name:            chats.Name,
		Title:           "Telegram",
		Prefix:          chats.Prefix,
		Place:           "a Telegram chat",
		Kept:            "A Telegram chat stays paired with the bot: its next message begins the channel anew.",
		NewConversation: "/new",
		HealthMember:    true,
		IsConfigured:    func(c config.Config) bool { return c.Telegram.Token.IsSet() },
		New:             open,
		Check:           checkBot,
		Setup:           setup.New,
	}
}

func open(g adapters.Gateway) (adapters.Adapter, error) {
	cfg := &g.Config
	return New(Options{
		Core:        g.Core,
		Commands:    g.Commands,
		Push:        g.Push,
		Log:         g.Log,
		Token:       cfg.Telegram.Token.Reveal(),
		API:         string(cfg.Telegram.API),
		Allowed:     cfg.Telegram.AllowedUsers,
		StateDir:    cfg.StateDir(),
		LockFile:    cfg.Telegram.LockFile(cfg.UserDir),
		Holder:      g.PID,
		FileOver:    int(cfg.Telegram.FileOver),
		MediaMaxAge: time.Duration(cfg.Telegram.MediaMaxAge),
		Transcribe:  string(cfg.Telegram.Transcribe),
		SendRoots:   cfg.Telegram.SendRoots,
		CWD:         string(cfg.Files.CWD),
		Withheld:    cfg.NeverSent(),
		Shown:       g.Show,
		Inert:       g.Inert,
		Restart:     g.Restart,
		Version:     g.Version,
		Agent:       g.Agent,
	})
}
