package telegram

import (
	"context"

	"bareclaw/adapters/telegram/approvals"
	botcommands "bareclaw/adapters/telegram/commands"
	"bareclaw/adapters/telegram/live"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"
)

// A Core is what the adapter uses of the gateway's core. All are required.
type Core struct {
	Lanes      Lanes
	Messages   botcommands.Messages
	Channels   botcommands.Channels
	Decider    Decider
	Feeds      live.Feeds
	Inbox      Inbox
	Deliveries Deliveries
	Records    Records
}

// Lanes take messages, and end turns and conversations.
type Lanes interface {
	botcommands.Lanes
	Amend(ctx context.Context, id core.MessageID, c core.Content) error
}

// A Decider has what waits for a decision, and what can be tried again.
type Decider interface {
	approvals.Decider
	botcommands.Decider
}

// An Inbox records what has come in until it is handled.
type Inbox interface {
	Receive(ctx context.Context, in []*core.Inbound) error
	Handled(ctx context.Context, ids ...string) error
	Unhandled(ctx context.Context, adapter string) ([]core.Inbound, error)
	LastInbound(ctx context.Context, adapter string) (core.Inbound, error)
}

// Deliveries are what the core has the adapter bring to chats.
type Deliveries interface {
	outbox.Deliveries
	Consume(ctx context.Context, adapter string, take func(core.Delivery)) error
}

// Records are what the adapter keeps.
type Records interface {
	records.Ledger
	ForgetRecords(ctx context.Context, rs ...core.RecordRange) error
}
