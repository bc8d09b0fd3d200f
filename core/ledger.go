package core

import (
	"context"
	"time"
)

// A Ledger is the durable record. The readers see what has been written and may block on
// the disk. All methods are safe for concurrent use.
type Ledger interface {
	Writer
	MessageReader
	TurnReader
	ApprovalReader
	ChannelReader
	DeliveryReader
	AdapterReader
	TotalsReader
}

// A Writer writes changes asynchronously and in order.
type Writer interface {
	// Write makes the change durable, whole or not at all, after every change
	// written before it, but for lazy ones. The records are read before it
	// returns. It does not block; done is called once from the ledger's own
	// goroutine, in the order in which the changes became durable, and must not
	// block. After an error nothing of the change was recorded: ErrStorageFull
	// and ErrStorage may be tried again; ErrClosed, a *DuplicateError and any
	// other error, which means that the change contradicts the record, may not.
	Write(c Change, done func(error))
	// Progress counts what the goroutine that writes has brought to an end, whether it
	// succeeded or not. It does not block.
	Progress() uint64
}

// A MessageReader reads messages.
type MessageReader interface {
	// Message returns one message, or ErrNotFound.
	Message(ctx context.Context, id MessageID) (Message, error)
	// Messages returns the newest messages of a channel, newest first, at most
	// limit, older than before if that is not empty. They have no Content, and a
	// short Prompt: many contents with media would not fit into memory.
	Messages(ctx context.Context, key ChannelKey, limit int, before MessageID) ([]Message, error)
	// Open returns every message without an outcome, by rank and then oldest first,
	// and every turn that has not ended, in the order they were begun.
	Open(ctx context.Context) ([]Message, []Turn, error)
}

// A TurnReader reads turns and what came of their sessions.
type TurnReader interface {
	// Turn returns one turn with its end and marks, or ErrNotFound.
	Turn(ctx context.Context, id TurnID) (Turn, error)
	// SessionUse returns what is known of an agent session.
	SessionUse(ctx context.Context, sessionID string) (SessionUse, error)
	// Backgrounds returns the newest background results of a channel, newest first.
	Backgrounds(ctx context.Context, key ChannelKey, limit int) ([]Background, error)
}

// An ApprovalReader reads approvals.
type ApprovalReader interface {
	// Approval returns one approval, or ErrNotFound.
	Approval(ctx context.Context, id string) (Approval, error)
	// PendingApprovals returns those that are pending, oldest first.
	PendingApprovals(ctx context.Context) ([]Approval, error)
	// TurnApprovals returns all approvals of a turn, oldest first.
	TurnApprovals(ctx context.Context, id TurnID) ([]Approval, error)
}

// A ChannelReader reads what is known of channels.
type ChannelReader interface {
	// Channels returns what is known of every channel that ever had a message.
	Channels(ctx context.Context) ([]ChannelRecord, error)
	// Settings returns what channels have of their own.
	Settings(ctx context.Context) (map[ChannelKey]Settings, error)
	// Moves returns the moves of channels, oldest first, the newest of each.
	Moves(ctx context.Context) ([]Move, error)
}

// A DeliveryReader reads deliveries.
type DeliveryReader interface {
	// Delivery returns one delivery, or ErrNotFound.
	Delivery(ctx context.Context, id string) (Delivery, error)
	// PendingDeliveries returns the adapter's deliveries that are pending, oldest first.
	PendingDeliveries(ctx context.Context, adapter string) ([]Delivery, error)
	// MessageDeliveries returns the deliveries that belong to a message, oldest first.
	MessageDeliveries(ctx context.Context, id MessageID) ([]Delivery, error)
}

// An AdapterReader reads what adapters received and keep.
type AdapterReader interface {
	// Unhandled returns the adapter's inbounds that are not handled, oldest first.
	Unhandled(ctx context.Context, adapter string) ([]Inbound, error)
	// LastInbound returns the adapter's newest inbound, or ErrNotFound.
	LastInbound(ctx context.Context, adapter string) (Inbound, error)
	// Records returns the owner's records whose key begins with prefix, by key.
	Records(ctx context.Context, owner, prefix string) ([]Record, error)
	// Record returns one record, or ErrNotFound.
	Record(ctx context.Context, owner, key string) (Record, error)
}

// A TotalsReader reads counts and costs.
type TotalsReader interface {
	// Spent returns the USD that were spent on a day; see Day.
	Spent(ctx context.Context, day string) (float64, error)
	// Usage sums up the ended turns of a channel's messages: all, and those that ended
	// at since or later.
	Usage(ctx context.Context, key ChannelKey, since time.Time) (Usage, error)
	// Balance returns the ledger's account of all messages.
	Balance(ctx context.Context) (Balance, error)
}

// SessionUse is what the ledger knows of an agent session.
type SessionUse struct {
	Ours      bool    // a turn with Opens was begun in it: the id was made here
	Completed bool    // a turn in it ended with a result of the agent
	TotalCost float64 // USD, the highest running total that a result reported, of a turn or in the background
}

// A ChannelRecord sums up one channel's history.
type ChannelRecord struct {
	Key      ChannelKey
	Messages int
	LastAt   time.Time // when its newest message was received
}

// A Balance is the account of all messages: Accepted, Answered, Failed and
// Cancelled are counted as they happen, Waiting (which includes running) by
// looking at the messages that have no outcome.
type Balance struct {
	Accepted, Answered, Failed, Cancelled, Waiting int64
}

// Even reports whether every accepted message is accounted for exactly once.
func (b Balance) Even() bool {
	return b.Accepted == b.Answered+b.Failed+b.Cancelled+b.Waiting
}

// SessionIDs is the durable map from channels to agent session ids. Its methods
// are safe for concurrent use; Set, Forget and Move return once the change is on disk.
type SessionIDs interface {
	Get(key ChannelKey) (id string, ok bool)
	Set(key ChannelKey, id string) error
	Forget(key ChannelKey) error
	// Move gives the id of one channel to another, in place of what that had. It
	// changes nothing if the first has none.
	Move(from, to ChannelKey) error
	All() map[ChannelKey]string
}
