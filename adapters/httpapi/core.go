package httpapi

import (
	"context"

	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
	"bareclaw/core/feed"
	"bareclaw/core/settings"
)

// A Core is what the API uses of the gateway's core. All are required.
type Core struct {
	Lanes      Lanes
	Messages   Messages
	History    History
	Channels   Channels
	Decider    Decider
	Settings   ChannelSettings
	Feeds      Feeds
	Deliverers Deliverers
}

// Lanes take messages, and end turns, conversations and channels.
type Lanes interface {
	Submit(ctx context.Context, s core.Submission) (*core.Ticket, error)
	SubmitAndWait(ctx context.Context, s core.Submission, hurry <-chan struct{}) (*core.Ticket, error)
	Cancel(ctx context.Context, id core.MessageID) (core.Message, error)
	Interrupt(ctx context.Context, key core.ChannelKey, turn core.TurnID) (core.Interruption, error)
	Reset(ctx context.Context, key core.ChannelKey) error
	Remove(ctx context.Context, key core.ChannelKey) (core.Removal, error)
}

// Messages finds messages, and waits for their outcomes.
type Messages interface {
	Message(ctx context.Context, id core.MessageID) (core.Message, error)
	Find(ctx context.Context, text string) (core.MessageID, error)
	Ticket(ctx context.Context, id core.MessageID) (*core.Ticket, error)
	Wait(ctx context.Context, id core.MessageID) (core.Message, error)
	WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error)
	QueuePosition(id core.MessageID) core.QueuePosition
	Trace(ctx context.Context, id core.MessageID) (core.Trace, error)
}

// History lists what channels have had.
type History interface {
	metrics.Balancer
	Messages(ctx context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error)
	Backgrounds(ctx context.Context, key core.ChannelKey, limit int) ([]core.Background, error)
}

// Channels tells about channels.
type Channels interface {
	metrics.Channels
	Channels(ctx context.Context) ([]core.ChannelStatus, error)
	Channel(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error)
	Usage(ctx context.Context, key core.ChannelKey) (core.Usage, error)
}

// A Decider has what waits for a decision, and what can be tried again.
type Decider interface {
	Approvals(ctx context.Context) ([]core.Approval, error)
	Decide(ctx context.Context, id string, d core.Decision) (core.Approval, error)
	Resubmission(ctx context.Context, id core.MessageID) (core.Submission, core.Message, error)
}

// ChannelSettings are what channels have of their own.
type ChannelSettings interface {
	Settings(key core.ChannelKey) core.Settings
	ChangeSettings(ctx context.Context, key core.ChannelKey, choice settings.Choice) error
	RemoveRule(ctx context.Context, key core.ChannelKey, id string) error
	Mode(key core.ChannelKey) string
	OwnModes() map[core.ChannelKey]string
}

// Feeds has the updates of channels.
type Feeds interface {
	Subscribe(key core.ChannelKey) *feed.Subscription
	Resume(key core.ChannelKey, after string) *feed.Subscription
}

// Deliverers names the adapter that delivers to a channel.
type Deliverers interface {
	Deliverer(key core.ChannelKey) string
}
