package core

import "time"

// A Change is a set of records that become durable together.
type Change struct {
	Accept     []*Message       // new messages, in order
	Begin      []*Turn          // frozen turns: their members become running
	Update     []*Turn          // open turns: SessionID, Opens and Notices as they are now
	Settle     []Settlement     // outcomes; a message that has one keeps it
	Requeue    []MessageID      // members of turns in End that wait again: state waiting, no turn, no DispatchedAt; never lazy
	End        []*Turn          // ended turns (EndedAt, Result, Code, Marks); CostUSD is spent on the day of EndedAt
	Approvals  []*Approval      // new or changed
	Background []*Background    // new; CostUSD is spent on the day of CreatedAt
	Deliver    []*Delivery      // new; those whose id is known are ignored
	Delivered  []*Delivery      // pending ones as they are now: State, Progress, Attempts, Error, EndedAt
	Inbound    []*Inbound       // new; those whose id is known are ignored
	Handled    []string         // ids of inbounds
	Records    []*Record        // new or changed, or removed
	Amend      []*Message       // waiting messages: Content as it is now; never lazy
	Move       *Move            // what is on one channel goes to another; never lazy
	Reorder    []Rank           // of waiting messages; never lazy
	Settings   []SettingsChange // of channels; never lazy

	// ForgetRecords removes records of some age.
	ForgetRecords []RecordRange
	// ForgetInbound removes what was handled and received before that.
	ForgetInbound time.Time

	// Lazy says that nobody waits for the change and that it could be had again
	// after a crash. It may be written some milliseconds later, with others of its
	// kind, and after changes that were written later; reads see it all the same.
	Lazy bool
}

// A Settlement gives a message its outcome.
type Settlement struct {
	ID      MessageID
	EndedAt time.Time
	Reply   Reply
}

// A Rank puts a waiting message at another place of its channel's queue: the lowest rank
// is the next, and among equal ranks the message that came first.
type Rank struct {
	ID   MessageID
	Rank int
}

// A Move says that a channel goes on under another key. Written, it moves what waits,
// before what waits there, with the settings, the rules and the pending approvals; the
// history stays. The session follows, in the session file, by what is noted here.
type Move struct {
	From, To ChannelKey
	Session  string // of From, empty if it has none
	Keeps    bool   // To has had turns and keeps its own session; that of From is forgotten
	At       time.Time
}

// A SettingsChange changes what one channel has of its own.
type SettingsChange struct {
	Channel        ChannelKey
	Model          *string // nil: as it is; empty: taken back
	PermissionMode *string
	Add            []Rule   // those that the channel has already, by Rule, change nothing
	Remove         []string // ids; unknown ones change nothing
}
