package daemon

import (
	"context"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/telegram"
	"bareclaw/internal/buildinfo"
	"bareclaw/sessionhost/claude"
)

// chats is the Telegram adapter at work.
type chats struct {
	adapter *telegram.Adapter
	end     context.CancelFunc
	ended   chan struct{} // closed when it has ended
}

// deliverers names who delivers the background results of which channels.
func (d *daemon) deliverers() map[string]string {
	if !d.cfg.TelegramToken.IsSet() {
		return nil
	}
	return map[string]string{telegram.Prefix: telegram.Name}
}

// prepareTelegram makes the adapter for Telegram, if there is a bot. It is called
// before the core takes up what was left.
func (d *daemon) prepareTelegram() error {
	if !d.cfg.TelegramToken.IsSet() {
		return nil
	}
	token := d.cfg.TelegramToken.Reveal()
	adapter, err := telegram.New(telegram.Options{
		Core: d.manager, Push: &d.push, Log: d.log, Token: token, API: d.cfg.TelegramAPI, Allowed: d.cfg.AllowedUsers,
		StateDir: d.cfg.StateDir, LockFile: d.cfg.TelegramLock(),
		FileOver: d.cfg.FileOver, MediaMaxAge: d.cfg.MediaMaxAge, Transcribe: d.cfg.Transcribe,
		SendRoots: d.cfg.SendRoots, CWD: d.cfg.CWD, Withheld: []string{d.cfg.StateDir, d.cfg.RuntimeDir, d.cfg.UserDir},
		Shown: claude.Show, Restart: d.requestRestart, Version: "bareclaw " + buildinfo.Version(), Agent: d.agent.describe(),
	})
	if err != nil {
		return err
	}
	d.telegram = &chats{adapter: adapter}
	return adapter.Prepare(context.Background())
}

// startTelegram serves Telegram, if there is a bot. It asks nothing of the network.
func (d *daemon) startTelegram() {
	c := d.telegram
	if c == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.end, c.ended = cancel, make(chan struct{})
	d.closers = append(d.closers, c.stop)
	go func() { // ends by stop
		defer close(c.ended)
		if err := c.adapter.Run(ctx); err != nil && ctx.Err() == nil {
			d.log.Error("Telegram is not served", "err", err)
		}
	}()
}

// stop ends it and returns when nothing of it is under way any more. It may be
// called again, and where there is none.
func (c *chats) stop() {
	if c == nil {
		return
	}
	c.end()
	<-c.ended
}

// close ends what waits for it, after stop.
func (c *chats) close() {
	if c != nil {
		c.adapter.Close()
	}
}

// health says how it does; nil where there is none.
func (c *chats) health() *httpapi.Telegram {
	if c == nil {
		return nil
	}
	h := c.adapter.Health()
	return &httpapi.Telegram{
		Ready: h.Ready, Problem: h.Problem, Bot: h.Bot, LastPoll: h.LastPoll,
		Strangers: h.Strangers, Pending: h.Pending, Failed: h.Failed,
	}
}
