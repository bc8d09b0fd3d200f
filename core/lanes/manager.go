// Package lanes serves channels. A [Manager] has a lane for each active channel, and the
// lane owns the channel's queue, turns in flight and agent session.
//
// Adapters call [Manager.Submit] and read the outcome from the [core.Ticket]. Package lanes does
// the queueing, coalescing, session handling and recovery.
package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// Options configure a Manager. Ledger, Agent, Sessions and Log are required.
type Options struct {
	Ledger   core.Ledger
	Agent    core.Agent
	Sessions core.SessionIDs
	Log      *slog.Logger

	QueueLimit      int            // messages without an outcome per channel; 0 means 1000
	TurnTimeout     time.Duration  // interrupt a turn running longer; 0 means never
	StallAfter      time.Duration  // report a turn silent for longer as stuck; 0 means never
	StallAction     StallAction    // action on a stuck turn
	IdleTimeout     time.Duration  // end a session unused for longer; 0 means never
	MaxSessions     int            // live sessions at once; 0 means any number
	TurnBudget      float64        // USD per turn, the same as in the agent's configuration; 0 means any amount
	DailyBudget     float64        // USD per day, after which no turn begins; 0 means any amount
	Approvals       ApprovalPolicy // whether a person decides about tool permissions
	ApprovalTimeout time.Duration  // how long an approval waits; 0 means 10 minutes
	Greeting        []core.Notice  // added once to the first reply of each channel
	// Deliverers maps a key prefix to the adapter delivering the background results of the
	// channels with the prefix.
	Deliverers map[string]string
	Now        func() time.Time
}

// ApprovalPolicy selects whether tool permission requests wait for a person.
type ApprovalPolicy string

// The approval policies. The zero value sends requests to a person where the message's
// adapter supports approvals, and denies elsewhere.
const (
	ApprovalsByAdapter ApprovalPolicy = ""
	ApprovalsAsk       ApprovalPolicy = "ask"
	ApprovalsDeny      ApprovalPolicy = "deny"
)

// A Manager serves all channels through lanes, each owning a channel's queue and agent
// session. All methods are safe for concurrent use.
type Manager struct {
	o       Options
	tickets ticketIndex
	feeds   feed.Broker

	pool     *sessionPool
	budget   budget
	settings settingsCache
	moves    moves
	moveOne  chan struct{} // capacity 1: held during the final phase of a move

	stats    counters
	progress atomic.Uint64   // the ledger's progress when the writer was last found alive
	ctx      context.Context // ends the lanes
	stop     context.CancelCauseFunc
	wg       sync.WaitGroup // lanes, and goroutines started by lanes

	mu      sync.Mutex // guards the fields below
	lanes   map[core.ChannelKey]*lane
	greeted map[core.ChannelKey]struct{} // channels without a lane that have received the greeting
	closed  bool
	// deliveryHandlers receive new deliveries, by adapter.
	deliveryHandlers map[string]func(core.Delivery)
}

type counters struct {
	turns, turnErrors, resent, interrupted, refused, stalled, parked, idled, evicted atomic.Int64
	answeredAt                                                                       atomic.Pointer[time.Time] // when a turn was last answered
}

// Stats holds counts since the start of the process, and the present state.
type Stats struct {
	Turns, TurnErrors, Resent, Interrupted, QueueRefused, Stalled int64
	Parked, Idled, Evicted                                        int64 // channels parked; sessions ended unused; sessions ended for another channel
	Lanes, Sessions, Running, Waiting                             int
	Spending                                                      core.Spending
}

// New returns a manager not serving yet: call Recover first.
func New(o Options) *Manager {
	o.QueueLimit = cmp.Or(o.QueueLimit, 1000)
	o.ApprovalTimeout = cmp.Or(o.ApprovalTimeout, 10*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, stop := context.WithCancelCause(context.Background())
	return &Manager{
		o: o, ctx: ctx, stop: stop, pool: newSessionPool(o.MaxSessions), budget: budget{limit: o.DailyBudget},
		lanes: map[core.ChannelKey]*lane{}, greeted: map[core.ChannelKey]struct{}{}, moveOne: make(chan struct{}, 1),
	}
}

// Recover continues the work of an earlier process: Recover starts lanes for open messages
// and live session hosts, and each lane attaches to the host and decides the fate of turns
// in flight. Recover returns once the lanes are started, before recovery completes.
func (m *Manager) Recover(ctx context.Context) error {
	messages, turns, err := m.o.Ledger.Open(ctx)
	if err != nil {
		return fmt.Errorf("read open messages: %w", err)
	}
	m.publishUnpublished(ctx, messages)
	approvals, err := m.o.Ledger.PendingApprovals(ctx)
	if err != nil {
		return fmt.Errorf("read pending approvals: %w", err)
	}
	live, err := m.o.Agent.Live(ctx)
	if err != nil {
		return fmt.Errorf("find live session hosts: %w", err)
	}
	now := m.o.Now()
	spent, err := m.o.Ledger.Spent(ctx, core.Day(now))
	if err != nil {
		return fmt.Errorf("read what was spent today: %w", err)
	}
	m.budget.add(now, spent)
	settings, err := m.o.Ledger.Settings(ctx)
	if err != nil {
		return fmt.Errorf("read the settings of channels: %w", err)
	}
	m.settings.fill(settings)
	moved, err := m.o.Ledger.Moves(ctx)
	if err != nil {
		return fmt.Errorf("read which channels were moved: %w", err)
	}
	for i, mv := range moved {
		m.moves.note(mv)
		if superseded(mv, moved[i+1:]) {
			continue
		}
		if err := m.moveSession(mv); err != nil {
			return fmt.Errorf("complete the move of channel %q to %q: %w", mv.From, mv.To, err)
		}
	}
	left := map[core.ChannelKey]*recovered{}
	of := func(key core.ChannelKey) *recovered {
		if left[key] == nil {
			left[key] = &recovered{}
		}
		return left[key]
	}
	for i := range messages {
		r := of(messages[i].Channel)
		r.messages = append(r.messages, &messages[i])
		m.tickets.add(core.NewTicket(messages[i]))
	}
	for i := range turns {
		r := of(turns[i].Channel)
		r.turns = append(r.turns, &turns[i])
	}
	for i := range approvals {
		if approvals[i].Kind == core.ApprovalContinue {
			continue // no turn waits for the approval
		}
		r := of(approvals[i].Channel)
		r.approvals = append(r.approvals, &approvals[i])
	}
	for _, key := range live {
		of(key).live = true
	}
	for _, first := range []bool{true, false} { // count all live sessions before starting more
		for key, r := range left {
			if r.live == first {
				m.startLane(key, r)
			}
		}
	}
	return nil
}

// lane returns the channel's lane, starting a new lane if necessary.
func (m *Manager) lane(key core.ChannelKey) (*lane, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, core.ErrClosed
	}
	if l := m.lanes[key]; l != nil {
		return l, nil
	}
	return m.newLaneLocked(key, nil), nil
}

// postTo queues f for the channel's lane, replacing a lane retired just now.
func (m *Manager) postTo(key core.ChannelKey, f func(*lane)) (*lane, error) {
	for {
		l, err := m.lane(key)
		if err != nil {
			return nil, err
		}
		if l.post(func() { f(l) }) {
			return l, nil
		}
	}
}

func (m *Manager) startLane(key core.ChannelKey, r *recovered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.newLaneLocked(key, r)
}

func (m *Manager) newLaneLocked(key core.ChannelKey, r *recovered) *lane {
	l := newLane(m, key)
	if _, ok := m.greeted[key]; !ok {
		l.notices = slices.Clone(m.o.Greeting)
	}
	if r != nil && r.live && m.pool.limit > 0 {
		m.pool.adopt(l)
		l.slot = slotBusy
	}
	m.lanes[key] = l
	m.wg.Go(func() { l.run(m.ctx, r) })
	return l
}

// known returns the channel's lane, if the channel has a lane.
func (m *Manager) known(key core.ChannelKey) (*lane, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.lanes[key]
	return l, ok
}

func (m *Manager) allLanes() []*lane {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*lane, 0, len(m.lanes))
	for _, l := range m.lanes {
		all = append(all, l)
	}
	return all
}

// Detach stops serving and leaves the session hosts running. Detach returns when the lanes
// have ended.
func (m *Manager) Detach() {
	m.close()
	m.stop(core.ErrClosed)
	m.wg.Wait()
}

// Shutdown stops serving and ends every session host with the agent. Turns in flight stay
// open in the ledger. Shutdown returns when all hosts are gone or ctx ends.
func (m *Manager) Shutdown(ctx context.Context) error {
	m.Detach()
	live, err := m.o.Agent.Live(ctx)
	if err != nil {
		return fmt.Errorf("find live session hosts: %w", err)
	}
	errs := make([]error, len(live))
	var wg sync.WaitGroup
	for i, key := range live {
		wg.Go(func() { errs[i] = m.o.Agent.Reap(ctx, key) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (m *Manager) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}
