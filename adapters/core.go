package adapters

import (
	"context"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// A Core is what the gateway's core does for an adapter.
type Core struct {
	Lanes      Lanes
	Messages   Messages
	Channels   Channels
	Decider    Decider
	Feeds      Feeds
	Inbox      Inbox
	Deliveries Deliveries
	Records    Records
}

// Lanes take messages, and end turns and conversations.
type Lanes interface {
	Submit(ctx context.Context, s core.Submission) (*core.Ticket, error)
	Amend(ctx context.Context, id core.MessageID, c core.Content) error
	Interrupt(ctx context.Context, key core.ChannelKey, turn core.TurnID) (core.Interruption, error)
	Reset(ctx context.Context, key core.ChannelKey) error
}

// Messages are all that were accepted.
type Messages interface {
	Message(ctx context.Context, id core.MessageID) (core.Message, error)
	OpenMessages(ctx context.Context, adapter string) ([]core.Message, error)
	Wait(ctx context.Context, id core.MessageID) (core.Message, error)
}

// Channels tells what a channel is doing.
type Channels interface {
	Present(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error)
}

// A Decider has what waits for a decision, and what can be tried again.
type Decider interface {
	Approval(ctx context.Context, id string) (core.Approval, error)
	Approvals(ctx context.Context) ([]core.Approval, error)
	Decide(ctx context.Context, id string, d core.Decision) (core.Approval, error)
	Resubmission(ctx context.Context, id core.MessageID) (core.Submission, core.Message, error)
}

// Feeds tell what happens on channels.
type Feeds interface {
	Subscribe(key core.ChannelKey) *feed.Subscription
	Resume(key core.ChannelKey, after string) *feed.Subscription
}

// An Inbox records what has come in until it is handled.
type Inbox interface {
	Receive(ctx context.Context, in []*core.Inbound) error
	Handled(ctx context.Context, ids ...string) error
	Unhandled(ctx context.Context, adapter string) ([]core.Inbound, error)
	LastInbound(ctx context.Context, adapter string) (core.Inbound, error)
}

// Deliveries are what the core has the adapter bring to channels.
type Deliveries interface {
	Consume(ctx context.Context, adapter string, take func(core.Delivery)) error
	Deliver(ctx context.Context, d *core.Delivery, rs ...*core.Record) error
	Redeliver(ctx context.Context, d *core.Delivery) error
	Delivered(ctx context.Context, d core.Delivery) error
	Delivery(ctx context.Context, id string) (core.Delivery, error)
}

// Records are what the adapter keeps.
type Records interface {
	PutRecords(ctx context.Context, rs ...*core.Record) error
	Record(ctx context.Context, owner, key string) (core.Record, error)
	Records(ctx context.Context, owner, prefix string) ([]core.Record, error)
	ForgetRecords(ctx context.Context, rs ...core.RecordRange) error
}
