package core

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The states of a channel.
const (
	StateIdle     = "idle"     // no process, and nothing to do
	StateReady    = "ready"    // a process without a turn
	StateStarting = "starting" // a process that cannot take a turn yet
	StateEnding   = "ending"   // a process that was unused and is being ended
	StateWaiting  = "waiting"  // messages wait for a session to become free
	StateParked   = "parked"   // nothing is begun: no login, a usage limit, or the daily budget
	StateRunning  = "running"
)

// ChannelStatus is the present state of a channel.
type ChannelStatus struct {
	Key               ChannelKey
	State             string
	Since             time.Time // when the running turn was begun, or the channel was parked; else zero
	Why               string    // why messages wait although nothing runs before them; else empty
	Until             time.Time // of a parked channel: when it is tried again by itself
	Parked            string    // the code of what parks it; else empty
	SessionID         string
	HostPID, AgentPID int
	Waiting, Running  int // messages
	Turn              TurnID
	Activity          string // the tool in use
	Model             string // that the session said it uses; empty: not known
	HostBlocked       string // why what the agent says is not read; else empty
	Messages          int    // ever accepted
	LastAt            time.Time
	Approvals         int // pending
}

// An Overview sums up all channels.
type Overview struct {
	Active []ChannelStatus // those with a process or something to do, sorted by key; without Messages and LastAt
	Idle   int             // further channels, whose conversation can be resumed
	Hosts  int             // sessions that are alive
	Limit  int             // how many may be; 0: any number

	Answered time.Time // when this process last saw a turn end with an answer
}

// Standstill says, in a sentence for each reason, why nothing is answered and what to do;
// it is empty while a channel that has work is not parked. A parked channel where nothing
// waits counts as well, since the next message meets the same, unless another one was
// answered since.
func (o *Overview) Standstill() (problems []string) {
	reasons := map[string][]*ChannelStatus{}
	for i := range o.Active {
		switch c := &o.Active[i]; {
		case c.Parked == "" && c.Running+c.Waiting > 0:
			return nil
		case c.Parked != "" && (c.Waiting > 0 || !o.Answered.After(c.Since)):
			reasons[c.Parked] = append(reasons[c.Parked], c)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(reasons)) {
		parked := reasons[code]
		problems = append(problems, strings.TrimSpace(fmt.Sprintf("Nothing is answered on %s. %s %s", namesOf(parked), parked[0].Why, remedies[code])))
	}
	return problems
}

// remedies say what a person can do about what parks channels.
var remedies = map[string]string{
	CodeNotLoggedIn: "To log in, run `claude` on the gateway's machine.",
	CodeUsageLimit:  "Nothing else has to be done.",
	ParkedForBudget: "To go on before that, raise BARECLAW_DAILY_BUDGET_USD and restart the gateway.",
}

// namesOf names some channels.
func namesOf(channels []*ChannelStatus) string {
	const most = 3
	var names []string
	for _, c := range channels[:min(most, len(channels))] {
		names = append(names, strconv.Quote(string(c.Key)))
	}
	all := strings.Join(names, ", ")
	if more := len(channels) - most; more > 0 {
		all += fmt.Sprintf(" and %d more channels", more)
	}
	return all
}

// States counts the channels in each state.
func (o Overview) States() map[string]int {
	n := map[string]int{
		StateIdle: o.Idle, StateReady: 0, StateStarting: 0, StateEnding: 0, StateWaiting: 0, StateParked: 0, StateRunning: 0,
	}
	for i := range o.Active {
		n[o.Active[i].State]++
	}
	return n
}

// A QueuePosition is where a message is in its channel's queue. The zero value is that of
// one that does not wait.
type QueuePosition struct {
	Position int       // 1 is the next
	Why      string    // what keeps the whole queue waiting, if that is not a running turn
	Until    time.Time // when a parked channel goes on by itself; else zero
}
