package daemon

import (
	"context"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/telegram"
	"bareclaw/core"
	"bareclaw/internal/buildinfo"
	"bareclaw/sessionhost/claude"
)

// A telegramPart is the Telegram adapter. Where no bot is configured its parts do nothing.
type telegramPart struct {
	engine  *engine
	push    *core.PushRegistry
	restart func(context.Context) error
	holder  int               // see telegram.Options
	adapter *telegram.Adapter // nil where no bot is configured
}

// telegramDeliverers returns which adapter delivers the background results of which channels.
func telegramDeliverers(enabled bool) map[string]string {
	if !enabled {
		return nil
	}
	return map[string]string{telegram.Prefix: telegram.Name}
}

// Start makes the adapter. Start is called before the engine recovers.
func (t *telegramPart) Start() (err error) {
	cfg := t.engine.cfg
	if !cfg.TelegramToken.IsSet() {
		return nil
	}
	token := cfg.TelegramToken.Reveal()
	t.adapter, err = telegram.New(telegram.Options{
		Core: t.engine.manager, Push: t.push, Log: t.engine.log, Token: token, API: cfg.TelegramAPI, Allowed: cfg.AllowedUsers,
		StateDir: cfg.StateDir, LockFile: cfg.TelegramLock(), Holder: t.holder,
		FileOver: cfg.FileOver, MediaMaxAge: cfg.MediaMaxAge, Transcribe: cfg.Transcribe,
		SendRoots: cfg.SendRoots, CWD: cfg.CWD, Withheld: []string{cfg.StateDir, cfg.RuntimeDir, cfg.UserDir},
		Shown: claude.Show, Restart: t.restart, Version: "bareclaw " + buildinfo.Version(), Agent: t.engine.agent.describe(),
	})
	if err != nil {
		return err
	}
	return t.adapter.Prepare(context.Background())
}

// Stop ends the requests that wait for the adapter.
func (t *telegramPart) Stop(stopReason) error {
	if t.adapter != nil {
		t.adapter.Close()
	}
	return nil
}

// Health reports how the bot is.
func (t *telegramPart) Health() partHealth {
	if t.adapter == nil {
		return partHealth{Ready: true}
	}
	h := t.adapter.Health()
	return partHealth{Name: telegram.Name, Ready: h.Ready, Problem: h.Problem, Facts: &api.Telegram{
		Ready: h.Ready, Problem: h.Problem, Bot: h.Bot, LastPoll: h.LastPoll,
		Strangers: h.Strangers, Pending: h.Pending, Failed: h.Failed,
	}}
}

// metrics returns the health for the metrics.
func (t *telegramPart) metrics() (h telegram.Health, enabled bool) {
	if t.adapter == nil {
		return h, false
	}
	return t.adapter.Health(), true
}

// poll receives and sends messages until ctx ends.
func (t *telegramPart) poll(ctx context.Context) {
	if t.adapter == nil {
		return
	}
	if err := t.adapter.Run(ctx); err != nil && ctx.Err() == nil {
		t.engine.log.Error("Telegram is not served", "err", err)
	}
}
