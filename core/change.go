package core

import "time"

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
	Delivered  []*Delivery      // pending deliveries: State, Progress, Attempts, Error and EndedAt are replaced
	Inbound    []*Inbound       // new; inbounds with a known id are ignored
	Handled    []string         // ids of inbounds
	Records    []*Record        // new or changed, or removed
	Amend      []*Message       // waiting messages: Content is replaced; never lazy
	Reorder    []Rank           // of waiting messages; never lazy
	Settings   []SettingsChange // of channels; never lazy

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
	Add            []Rule   // rules to add; a rule already present (compared by Rule) changes nothing
	Remove         []string // ids; unknown ids change nothing
}
