package core

import (
	"maps"
	"slices"
	"time"
)

// The states of a channel.
const (
	StateIdle     = "idle"     // no process and no work
	StateReady    = "ready"    // a process without a turn
	StateStarting = "starting" // a process not yet ready for a turn
	StateEnding   = "ending"   // an unused process being ended
	StateWaiting  = "waiting"  // messages wait for a session to become free
	StateParked   = "parked"   // no turn is begun: no login, a usage limit, or the daily budget
	StateRunning  = "running"
)

// ChannelStatus is the present state of a channel.
type ChannelStatus struct {
	Key               ChannelKey
	State             string
	Since             time.Time // begin of the running turn, or time of parking; else zero
	Why               string    // why messages wait without a running turn; else empty
	Until             time.Time // time of a parked channel's next automatic attempt
	Parked            string    // code of the reason for parking; else empty
	SessionID         string
	HostPID, AgentPID int
	Waiting, Running  int // messages
	Turn              TurnID
	Activity          string   // the tool in use
	Background        []string // descriptions of the background tasks that are alive; a description may be empty
	Version           string   // version of the live session's agent program; empty: unknown
	Model             string   // model reported by the session; empty: unknown
	HostBlocked       string   // why the agent's output is not read; else empty
	Messages          int      // number of messages ever accepted
	LastAt            time.Time
	Approvals         int // pending
}

// An Overview sums up all channels.
type Overview struct {
	Active []ChannelStatus // channels with a process or work, sorted by key; without Messages and LastAt
	Idle   int             // number of further channels, with resumable conversations
	Hosts  int             // number of live sessions
	Limit  int             // maximum number of live sessions; 0: unlimited

	Answered time.Time // when the current process last saw a turn end with an answer
}

// A Standstill is a reason why no messages are answered.
type Standstill struct {
	Code     string // of the reason for parking
	Why      string // the reason, for a person
	Channels []ChannelKey
}

// Standstills returns the reasons why no messages are answered. The result is empty if any
// channel with work is not parked. A parked channel without waiting messages counts as
// well, since the next message would be parked too, unless another message was answered
// after the parking.
func (o *Overview) Standstills() (all []Standstill) {
	reasons := map[string]*Standstill{}
	for i := range o.Active {
		switch c := &o.Active[i]; {
		case c.Parked == "" && c.Running+c.Waiting > 0:
			return nil
		case c.Parked != "" && (c.Waiting > 0 || !o.Answered.After(c.Since)):
			if reasons[c.Parked] == nil {
				reasons[c.Parked] = &Standstill{Code: c.Parked, Why: c.Why}
			}
			reasons[c.Parked].Channels = append(reasons[c.Parked].Channels, c.Key)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, *reasons[code])
	}
	return all
}

// States counts the channels in each state.
func (o Overview) States() map[string]int {
	n := map[string]int{
		StateIdle:     o.Idle,
		StateReady:    0,
		StateStarting: 0,
		StateEnding:   0,
		StateWaiting:  0,
		StateParked:   0,
		StateRunning:  0,
	}
	for i := range o.Active {
		n[o.Active[i].State]++
	}
	return n
}

// An Interruption describes an interrupted turn.
type Interruption struct {
	Turn     TurnID
	Messages []MessageID
	Took     time.Duration
}

// A Removal describes a removed channel.
type Removal struct {
	Messages int // messages that are gone
	Kept     int // messages that have come meanwhile, or whose outcome is still to be delivered
}

// A QueuePosition is the place of a message in its channel's queue. The zero value means
// that the message does not wait.
type QueuePosition struct {
	Position int       // 1 is next
	Why      string    // reason for the whole queue to wait, other than a running turn
	Until    time.Time // when a parked channel continues by itself; else zero
}

// Spending is the cost of all channels' turns and background results on a day.
type Spending struct {
	Day   string  // in the format of Day
	Spent float64 // USD
	Limit float64 // USD; 0: unlimited
}

// Day names the calendar day of a moment, in the moment's own time zone.
func Day(t time.Time) string { return t.Format(time.DateOnly) }

// Usage is the cost of a channel's turns, as reported by the agent. Background results are
// not included.
type Usage struct {
	Turns, TurnsToday int
	Spent, SpentToday float64 // USD
}

// A Trace is the timeline of a message. Turn is nil before dispatch; QueuePosition is the
// place of a waiting message.
type Trace struct {
	Message   Message
	Turn      *Turn
	Members   []MessageID
	Approvals []Approval
	// Deliveries are the deliveries to the sender; empty if the adapter answers by itself.
	Deliveries []Delivery
	QueuePosition
}

const (
	// MarkTool marks the begin of a tool, named by the mark's detail.
	MarkTool = "tool"
	// MarkTakenOver marks that another process of the gateway continues the turn, and may
	// not receive the agent's earlier work again.
	MarkTakenOver = "taken_over"
)
