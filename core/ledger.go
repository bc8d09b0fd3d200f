package core

import (
	"context"
	"time"
)

// A Ledger is the durable record. Readers see written changes and may block on the disk. All
// methods are safe for concurrent use.
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
	// Write makes the change durable, whole or not at all, after every change written
	// before, except for lazy changes. Write reads the records before returning, and does
	// not block. The ledger calls done once from its own goroutine, in the order in which
	// changes became durable; done must not block. After an error, no part of the change is
	// recorded. After ErrStorageFull and ErrStorage the caller may try again; after
	// ErrClosed, a *DuplicateError and any further error (the change contradicts the
	// record), the caller may not.
	Write(c Change, done func(error))
	// Progress counts completed steps of the writing goroutine, failed steps included: the
	// count stops growing if the goroutine is stuck. Progress does not block.
	Progress() uint64
}

// WriteAndWait writes a change and returns once the change is durable. If not nil, written
// runs on the ledger's goroutine after a success, and must not block. When ctx ends first,
// the change may still become durable.
func WriteAndWait(ctx context.Context, w Writer, c Change, written func()) error {
	done := make(chan error, 1)
	w.Write(c, func(err error) {
		if err == nil && written != nil {
			written()
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A MessageReader reads messages.
type MessageReader interface {
	// Message returns one message, or ErrNotFound.
	Message(ctx context.Context, id MessageID) (Message, error)
	// Messages returns the newest messages of a channel, newest first, at most limit, older
	// than before if before is not empty. The messages have no Content and a short Prompt:
	// many contents with media would not fit into memory.
	Messages(ctx context.Context, key ChannelKey, limit int, before MessageID) ([]Message, error)
	// MessageIDs returns at most limit ids of messages that begin or end with the text.
	MessageIDs(ctx context.Context, text string, limit int) ([]MessageID, error)
	// Open returns every message without an outcome, ordered by rank and then oldest first,
	// and every open turn, in order of beginning. A change may come between the two reads.
	Open(ctx context.Context) ([]Message, []Turn, error)
}

// A TurnReader reads turns and the use of their sessions.
type TurnReader interface {
	// Turn returns one turn with its end and marks, or ErrNotFound.
	Turn(ctx context.Context, id TurnID) (Turn, error)
	// SessionUse returns the record of an agent session.
	SessionUse(ctx context.Context, sessionID string) (SessionUse, error)
	// Backgrounds returns the newest background results of a channel, newest first.
	Backgrounds(ctx context.Context, key ChannelKey, limit int) ([]Background, error)
}

// An ApprovalReader reads approvals.
type ApprovalReader interface {
	// Approval returns one approval, or ErrNotFound.
	Approval(ctx context.Context, id string) (Approval, error)
	// PendingApprovals returns pending approvals, oldest first.
	PendingApprovals(ctx context.Context) ([]Approval, error)
	// TurnApprovals returns all approvals of a turn, oldest first.
	TurnApprovals(ctx context.Context, id TurnID) ([]Approval, error)
}

// A ChannelReader reads the records of channels.
type ChannelReader interface {
	// Channels returns the record of every channel with messages; that of a removed channel is gone.
	Channels(ctx context.Context) ([]ChannelRecord, error)
	// Settings returns the settings of all channels with settings of their own.
	Settings(ctx context.Context) (map[ChannelKey]Settings, error)
}

// A DeliveryReader reads deliveries.
type DeliveryReader interface {
	// Delivery returns one delivery, or ErrNotFound.
	Delivery(ctx context.Context, id string) (Delivery, error)
	// PendingDeliveries returns the adapter's pending deliveries, oldest first.
	PendingDeliveries(ctx context.Context, adapter string) ([]Delivery, error)
	// MessageDeliveries returns the deliveries that belong to a message, oldest first.
	MessageDeliveries(ctx context.Context, id MessageID) ([]Delivery, error)
}

// An AdapterReader reads the inbounds and records of adapters.
type AdapterReader interface {
	// Unhandled returns the adapter's unhandled inbounds, oldest first.
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
	// Spent returns the USD spent on a day; see Day.
	Spent(ctx context.Context, day string) (float64, error)
	// Usage sums up the ended turns of a channel's messages: all turns, and turns ended at
	// since or later.
	Usage(ctx context.Context, key ChannelKey, since time.Time) (Usage, error)
	// Balance returns the ledger's account of all messages.
	Balance(ctx context.Context) (Balance, error)
}

// SessionUse is the ledger's record of an agent session.
type SessionUse struct {
	Ours      bool    // the session began with an Opens turn: the gateway generated the id
	Completed bool    // a turn in the session ended with a result of the agent
	TotalCost float64 // USD, the highest running total reported by a result, of a turn or in the background
}

// A ChannelRecord sums up one channel's history.
type ChannelRecord struct {
	Key      ChannelKey
	Messages int
	LastAt   time.Time // receipt of the newest message
}

// A Balance accounts for all messages. Accepted, Answered, Failed and Cancelled are counted
// as messages change; Waiting (including running) is counted from the messages without an
// outcome.
type Balance struct {
	Accepted, Answered, Failed, Cancelled, Waiting int64
}

// Even reports whether every accepted message is accounted for exactly once.
func (b Balance) Even() bool {
	return b.Accepted == b.Answered+b.Failed+b.Cancelled+b.Waiting
}

// SessionIDs is the durable map from channels to agent session ids. Methods are safe for
// concurrent use; Set and Forget return once the change is on disk.
type SessionIDs interface {
	Get(key ChannelKey) (id string, ok bool)
	Set(key ChannelKey, id string) error
	Forget(key ChannelKey) error
	All() map[ChannelKey]string
}

// A Change is a set of records that become durable together.
type Change struct {
	Accept     []*Message       // new messages, in order
	Begin      []*Turn          // frozen turns: their members become running
	Update     []*Turn          // open turns: SessionID, Opens and Notices are replaced
	Settle     []Settlement     // outcomes; a message with an outcome keeps the old outcome
	Requeue    []MessageID      // members of turns in End that wait again: state waiting, no turn, no DispatchedAt; never lazy
	End        []*Turn          // ended turns (EndedAt, Result, Code, Marks); CostUSD is spent on the day of EndedAt
	Approvals  []*Approval      // new or changed
	Background []*Background    // new; CostUSD is spent on the day of CreatedAt
	Deliver    []*Delivery      // new; deliveries with a known id are ignored
	Redeliver  []*Delivery      // new, or failed without Progress, which become pending with this content; others are ignored
	Delivered  []*Delivery      // pending deliveries: State, Progress, Attempts, Error and EndedAt are replaced
	Inbound    []*Inbound       // new; inbounds with a known id are ignored
	Handled    []string         // ids of inbounds
	Records    []*Record        // new or changed, or removed
	Amend      []*Message       // waiting messages: Content is replaced; never lazy
	Reorder    []Rank           // of waiting messages; never lazy
	Settings   []SettingsChange // of channels; never lazy

	// Forget removes channels: their messages with an outcome that is delivered, with all that
	// belongs to these messages, their background results, settings and rules. Counts and costs
	// stay. Never lazy.
	Forget []ChannelKey
	// ForgetRecords removes records by age.
	ForgetRecords []RecordRange
	// ForgetInbound removes handled inbounds received before the time.
	ForgetInbound time.Time

	// Lazy marks a change without a waiting caller, recoverable after a crash. The ledger
	// may write a lazy change some milliseconds later, together with further lazy changes,
	// and after changes submitted later. Reads see the change at once.
	Lazy bool
}

// A Settlement gives a message its outcome.
type Settlement struct {
	ID      MessageID
	EndedAt time.Time
	Reply   Reply
}

// A Rank moves a waiting message within its channel's queue. The lowest rank comes first;
// equal ranks are ordered by acceptance.
type Rank struct {
	ID   MessageID
	Rank int
}

// A SettingsChange changes the settings of a channel.
type SettingsChange struct {
	Channel        ChannelKey
	Model          *string // nil: unchanged; empty: reset to the gateway's default
	PermissionMode *string
	Tools          *string
	Add            []Rule   // rules to add; a rule already present (compared by Rule) changes nothing
	Remove         []string // ids; unknown ids change nothing
}
