package telegram

import (
	"context"
	"time"

	"bareclaw/adapters"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/setup"
	"bareclaw/core"
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
		IsConfigured:    func(c config.Config) bool { return c.Telegram.Token.IsSet() },
		New:             open,
		Check:           checkBot,
		Setup:           setup.New,
	}
}

func open(g adapters.Gateway) (adapters.Adapter, error) {
	cfg := &g.Config
	a, err := New(Options{
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
	if err != nil {
		return nil, err
	}
	return served{a}, nil
}

// served is an adapter as the daemon sees it.
type served struct{ a *Adapter }

// Prepare prepares the adapter.
func (s served) Prepare(ctx context.Context) error { return s.a.Prepare(ctx) }

// Run runs the adapter until ctx ends.
func (s served) Run(ctx context.Context) error { return s.a.Run(ctx) }

// Close closes the adapter.
func (s served) Close() { s.a.Close() }

// CheckRecipient reports why nothing may be sent to a chat.
func (s served) CheckRecipient(ctx context.Context, channel core.ChannelKey) error {
	return s.a.CheckRecipient(ctx, channel)
}

// Health returns the state of the bot.
func (s served) Health() adapters.Health {
	now := s.a.Health()
	facts := map[string]any{
		"strangers": now.Strangers,
		"pending":   now.Pending,
		"failed":    now.Failed,
	}
	if now.Bot != "" {
		facts["bot"] = now.Bot
	}
	if !now.LastPoll.IsZero() {
		facts["last_poll"] = now.LastPoll
	}
	return adapters.Health{Ready: now.Ready, Problem: now.Problem, Facts: facts}
}

// WriteMetrics writes the metrics of the bot.
func (s served) WriteMetrics(w *metrics.Writer) { writeMetrics(w, s.a.Health()) }

func writeMetrics(w *metrics.Writer, now Health) {
	ready := 0.0
	if now.Ready {
		ready = 1
	}
	w.Gauge("bareclaw_telegram_ready", "1 while messages are received.", ready)
	if !now.LastPoll.IsZero() {
		w.Gauge("bareclaw_telegram_last_poll_age_seconds", "How long ago a poll was completed; left out before the first one.", time.Since(now.LastPoll).Seconds())
	}
	w.Counter("bareclaw_telegram_strangers_total", "Updates of users that are not allowed, since start.", float64(now.Strangers))
	w.Gauge("bareclaw_telegram_deliveries_pending", "Deliveries that are still to be made.", float64(now.Pending))
	w.Counter("bareclaw_telegram_deliveries_failed_total", "Deliveries given up, since start.", float64(now.Failed))
}
