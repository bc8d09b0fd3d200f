package commands

import (
	"context"
	"time"

	"bareclaw/core"
	"bareclaw/core/settings"
)

// Options hold what the commands of the gateway use of it. All are required, except Models.
type Options struct {
	Channels Channels
	Messages Messages
	Queue    Queue
	Sessions Sessions
	Settings Settings
	Gateway  Gateway
	Models   []string // names of models that the agent offers
}

// Channels tells about channels.
type Channels interface {
	Present(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error)
	Usage(ctx context.Context, key core.ChannelKey) (core.Usage, error)
	Spending() core.Spending
}

// Messages finds messages.
type Messages interface {
	Find(ctx context.Context, text string) (core.MessageID, error)
	Message(ctx context.Context, id core.MessageID) (core.Message, error)
	Messages(ctx context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error)
	Trace(ctx context.Context, id core.MessageID) (core.Trace, error)
}

// Queue has the waiting messages.
type Queue interface {
	Queue(ctx context.Context, key core.ChannelKey) ([]core.Message, error)
	Cancel(ctx context.Context, id core.MessageID) (core.Message, error)
	RunNow(ctx context.Context, id core.MessageID) error
}

// Sessions ends turns and conversations.
type Sessions interface {
	Interrupt(ctx context.Context, key core.ChannelKey, turn core.TurnID) (core.Interruption, error)
	Reset(ctx context.Context, key core.ChannelKey) error
}

// Settings are what channels have of their own.
type Settings interface {
	Settings(key core.ChannelKey) core.Settings
	ChangeSettings(ctx context.Context, key core.ChannelKey, choice settings.Choice) error
	RemoveRule(ctx context.Context, key core.ChannelKey, id string) error
}

// A Gateway holds the versions of the gateway and the agent, and the time of the start.
type Gateway struct {
	Version string
	Agent   string
	Began   time.Time
}

// Builtin returns the commands of the gateway itself.
func Builtin(o Options) []Command {
	conversation := conversations{o.Channels, o.Sessions}
	report := reports{o.Channels, o.Settings, o.Gateway}
	queue := queues{o.Channels, o.Queue, o.Messages}
	choose := chooser{o.Channels, o.Settings, o.Models}
	rules := rules{o.Settings}
	history := history{o.Messages}
	return []Command{
		{
			Name:   "new",
			Help:   "forget this conversation and begin a new one",
			Access: Acts,
			Run:    conversation.reset,
		},
		{
			Name:   "stop",
			Help:   "stop what is running now",
			Access: Acts,
			Run:    conversation.stop,
		},
		{
			Name:   "status",
			Help:   "what this chat is doing",
			Access: Reads,
			Show:   report.status,
		},
		{
			Name:   "queue",
			Help:   "waiting messages: see, drop, run now",
			Access: Acts,
			Show:   queue.show,
			Run:    queue.change,
		},
		{
			Name:   "model",
			Help:   "see or choose the model",
			Access: Acts,
			Show:   choose.model,
			Run:    choose.setModel,
		},
		{
			Name:   "mode",
			Help:   "see or choose the permission mode",
			Access: Widens,
			Show:   choose.mode,
			Run:    choose.setMode,
		},
		{
			Name:   "usage",
			Help:   "what was spent",
			Access: Reads,
			Show:   report.usage,
		},
		{
			Name:   "rules",
			Help:   "what is always allowed here",
			Access: Acts,
			Show:   rules.show,
			Run:    rules.remove,
		},
		{
			Name:   "why",
			Help:   "what became of a message",
			Access: Reads,
			Show:   history.newest,
			Run:    history.why,
		},
	}
}
