package daemon

import (
	"context"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/adapters/telegram"
	"bareclaw/internal/buildinfo"
	"bareclaw/sessionhost/claude"
)

// A telegramPart is the Telegram adapter. Where no bot is configured it does nothing.
type telegramPart struct {
	*base
	engine  *engine
	options telegram.Options  // what only the daemon knows
	adapter *telegram.Adapter // nil where no bot is configured
}

func (t *telegramPart) part() part { return part{t.start, t.stop, t.health} }

// start makes the adapter. It is called before the engine recovers.
func (t *telegramPart) start() (err error) {
	cfg := t.cfg
	if !cfg.TelegramToken.IsSet() {
		return nil
	}
	o := t.options
	o.Core, o.Push, o.Log, o.Shown = t.engine.manager, &t.push, t.log, claude.Show
	o.Token, o.API, o.Allowed = cfg.TelegramToken.Reveal(), cfg.TelegramAPI, cfg.AllowedUsers
	o.StateDir, o.LockFile, o.FileOver, o.MediaMaxAge, o.Transcribe = cfg.StateDir, cfg.TelegramLock(), cfg.FileOver, cfg.MediaMaxAge, cfg.Transcribe
	o.SendRoots, o.CWD, o.Withheld = cfg.SendRoots, cfg.CWD, []string{cfg.StateDir, cfg.RuntimeDir, cfg.UserDir}
	o.Version, o.Agent = "bareclaw "+buildinfo.Version(), t.engine.agent.describe()
	if t.adapter, err = telegram.New(o); err != nil {
		return err
	}
	return t.adapter.Prepare(context.Background())
}

func (t *telegramPart) stop(stopReason) error {
	if t.adapter != nil {
		t.adapter.Close()
	}
	return nil
}

func (t *telegramPart) health(h *api.Health) {
	if t.adapter == nil {
		return
	}
	now := t.adapter.Health()
	h.Telegram = &api.Telegram{
		Ready: now.Ready, Problem: now.Problem, Bot: now.Bot, LastPoll: now.LastPoll,
		Strangers: now.Strangers, Pending: now.Pending, Failed: now.Failed,
	}
	addProblem(h, now.Problem)
}

func (t *telegramPart) poll(ctx context.Context) {
	if t.adapter == nil {
		return
	}
	if err := t.adapter.Run(ctx); err != nil && ctx.Err() == nil {
		t.log.Error("Telegram is not served", "err", err)
	}
}

func (t *telegramPart) writeMetrics(w *metrics.Writer) {
	if t.adapter != nil {
		writeTelegramMetrics(w, t.adapter.Health())
	}
}

func writeTelegramMetrics(w *metrics.Writer, t telegram.Health) {
	ready := 0.0
	if t.Ready {
		ready = 1
	}
	w.Gauge("bareclaw_telegram_ready", "1 while messages are received.", ready)
	if !t.LastPoll.IsZero() {
		w.Gauge("bareclaw_telegram_last_poll_age_seconds", "How long ago a poll was completed; left out before the first one.", time.Since(t.LastPoll).Seconds())
	}
	w.Counter("bareclaw_telegram_strangers_total", "Updates of users that are not allowed, since start.", float64(t.Strangers))
	w.Gauge("bareclaw_telegram_deliveries_pending", "Deliveries that are still to be made.", float64(t.Pending))
	w.Counter("bareclaw_telegram_deliveries_failed_total", "Deliveries given up, since start.", float64(t.Failed))
}
