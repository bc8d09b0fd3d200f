package core

import (
	"cmp"
	"context"
	"errors"
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
	Unkept            string // why what the agent says is not read; else empty
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
	parkedForBudget: "To go on before that, raise BARECLAW_DAILY_BUDGET_USD and restart the gateway.",
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

// Overview returns the state of the channels. Other than Channels it reads no
// records.
func (m *ProcessManager) Overview(ctx context.Context) (Overview, error) {
	o := Overview{Limit: m.seats.limit, Active: []ChannelStatus{}}
	idle := m.o.Sessions.All()
	for _, l := range m.allLanes() {
		st, err := l.status(ctx)
		switch {
		case errors.Is(err, errRetired):
			continue
		case err != nil:
			return Overview{}, err
		case st.State == StateIdle:
			continue
		}
		delete(idle, l.key)
		o.Active = append(o.Active, st)
		if st.HostPID != 0 {
			o.Hosts++
		}
	}
	o.Idle = len(idle)
	if at := m.stats.answeredAt.Load(); at != nil {
		o.Answered = *at
	}
	slices.SortFunc(o.Active, func(a, b ChannelStatus) int { return cmp.Compare(a.Key, b.Key) })
	return o, nil
}

func (l *lane) status(ctx context.Context) (ChannelStatus, error) {
	var st ChannelStatus
	err := l.call(ctx, func() { st = l.present() })
	if err != nil {
		return ChannelStatus{}, err
	}
	return st, nil
}

// Present returns the state of one channel as it is now, without Messages and LastAt.
// Other than Channel it reads no records, and knows of no channel that does not
// exist: that is one that is idle.
func (m *ProcessManager) Present(ctx context.Context, key ChannelKey) (ChannelStatus, error) {
	st := ChannelStatus{Key: key, State: StateIdle}
	if l, ok := m.known(key); ok {
		now, err := l.status(ctx)
		if err == nil {
			st = now
		} else if !errors.Is(err, errRetired) {
			return ChannelStatus{}, err
		}
	}
	if st.SessionID == "" {
		st.SessionID, _ = m.o.Sessions.Get(key)
	}
	return st, nil
}

// present sums up the lane as it is now.
func (l *lane) present() ChannelStatus {
	st := ChannelStatus{
		Key: l.key, State: l.state(), SessionID: l.sessionID, HostPID: l.info.HostPID, AgentPID: l.info.AgentPID,
		Waiting: len(l.pending), Approvals: len(l.asked), Why: l.why(), Unkept: l.unkept, Model: l.model,
	}
	for _, f := range l.flights {
		if !f.answered {
			st.Running += len(f.items)
		}
	}
	switch f := l.running(); {
	case f != nil:
		st.Turn, st.Activity, st.Since = f.turn.ID, l.activity, f.turn.BegunAt
	case l.parked != nil:
		st.Since, st.Until, st.Parked = l.parked.since, l.parked.until, l.parked.code
	}
	return st
}

func (l *lane) state() string {
	switch {
	case l.seat == queueing:
		return StateWaiting
	case l.running() != nil:
		return StateRunning
	case l.parked != nil:
		return StateParked
	case l.leaving:
		return StateEnding
	case l.opening || l.session != nil && !l.ready:
		return StateStarting
	case l.session != nil:
		return StateReady
	}
	return StateIdle
}

// A Place is where a message is in its channel's queue. The zero value is that of
// one that does not wait.
type Place struct {
	Position int       // 1 is the next
	Why      string    // what keeps the whole queue waiting, if that is not a running turn
	Until    time.Time // when a parked channel goes on by itself; else zero
}

// Place returns the message's place as it is now.
func (m *ProcessManager) Place(id MessageID) Place {
	t, ok := m.desk.find(id)
	if !ok {
		return Place{}
	}
	l, ok := m.known(t.Message.Channel)
	if !ok {
		return Place{}
	}
	var at Place
	if err := l.call(m.ctx, func() { at = l.placeOf(id) }); err != nil {
		return Place{} // shutting down, or it waits no more
	}
	return at
}

func (l *lane) placeOf(id MessageID) Place {
	at := Place{Position: l.position(id)}
	if at.Position == 0 {
		return at
	}
	at.Why = l.why()
	if l.parked != nil {
		at.Until = l.parked.until
	}
	return at
}

func (l *lane) position(id MessageID) int {
	return 1 + slices.IndexFunc(l.pending, func(it *item) bool { return it.msg.ID == id })
}

// marks returns the timeline so far of a turn in flight.
func (l *lane) marks(ctx context.Context, id TurnID) []Mark {
	var marks []Mark
	err := l.call(ctx, func() {
		if f := l.flight(id); f != nil {
			marks = slices.Clone(f.turn.Marks)
		}
	})
	if err != nil {
		return nil
	}
	return marks
}
