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
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/core"
	"bareclaw/core/adapterstore"
	"bareclaw/core/feed"
	"bareclaw/core/sessionpool"
	"bareclaw/core/settings"
	"bareclaw/core/spending"
	"bareclaw/internal/wait"
)

// Options configure a Manager. Ledger, Agent, Sessions and Log are required.
type Options struct {
	Ledger   core.Ledger
	Agent    core.Agent
	Sessions core.SessionIDs
	Log      *slog.Logger

	Defaults        core.Settings  // apply to channels without settings of their own
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
	Advice     Advice // for texts about limits, permissions and settings
	Now        func() time.Time
	// LanesChanged receives the number of lanes after each change, and must not block.
	LanesChanged func(lanes int)
}

// Advice holds parts of texts that tell people how to change the gateway's behaviour. Lanes
// know neither the names of settings nor the commands of adapters, so the caller of New
// supplies both. Empty advice is omitted.
type Advice struct {
	DailyBudget string // name of the setting of DailyBudget
	MaxSessions string // name of the setting of MaxSessions
	TurnTimeout string // name of the setting of TurnTimeout
	AskPeople   string // how to have people asked for permissions, as in "set X and answer at Y"
	AllowTool   string // how to allow a tool without a permission, as in "add the tool to X"
	// UndoModel and UndoMode say how to remove a channel's model or permission mode, and Undo
	// how to remove any setting.
	UndoModel, UndoMode, Undo string
	Login                     string                       // how to log the agent in, as in "run X and restart"
	Retry                     func(core.MessageID) string  // how to run a message again
	Shorten                   string                       // how to shorten a conversation
	NewConversation           func(core.ChannelKey) string // how to begin a new conversation
}

// parenthesized returns name in parentheses after a space; empty for an empty name.
func parenthesized(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

// denied returns the message for the agent, and through the agent for the user, about how to
// allow a tool.
func (a *Advice) denied(tool string, question bool) string {
	if question {
		text := "Nobody can be asked on this channel. Go on with what is most likely meant, or end your answer with the question."
		if a.AskPeople != "" {
			text += " To be asked, " + a.AskPeople + "."
		}
		return text
	}
	text := "Permission for " + tool + " was denied because nobody can be asked on this channel."
	if a.AllowTool != "" && a.AskPeople != "" {
		text += " To allow it, " + a.AllowTool + ", or " + a.AskPeople + "."
	}
	return text
}

func (a *Advice) timeout() string { return cmp.Or(a.TurnTimeout, "the time limit") }

// ApprovalPolicy selects whether tool permission requests wait for a person.
type ApprovalPolicy string

// The approval policies. The zero value sends requests to a person where the message's
// adapter supports approvals, and denies elsewhere.
const (
	ApprovalsByAdapter ApprovalPolicy = ""
	ApprovalsAsk       ApprovalPolicy = "ask"
	ApprovalsDeny      ApprovalPolicy = "deny"
)

// StallAction selects the action on a turn without events.
type StallAction string

// The actions. The zero value means [StallNotify]; each action notifies the channel.
const (
	StallNotify    StallAction = "notify"    // only notify: the turn goes on
	StallInterrupt StallAction = "interrupt" // request the end of the turn from the agent, and end the agent after patientGrace
	StallKill      StallAction = "kill"      // end the agent
)

// A Manager serves all channels through lanes, each owning a channel's queue and agent
// session. All methods are safe for concurrent use.
//
// The exported fields are the manager's components. Only the wiring holds a manager and its
// components: adapters and other rooms declare the methods they call in interfaces of their own.
type Manager struct {
	Lookup          *Lookup    // finds messages
	Directory       *Directory // reports the state of channels
	Decider         *Decider   // takes decisions about approvals and retries
	ChannelSettings *settings.Cache
	Adapters        *adapterstore.Store // what adapters receive, deliver and keep
	Feeds           *feed.Broker        // publishes the updates of channels

	o       Options
	tools   ToolServer // set by Recover, before any lane runs
	lanes   *registry
	tickets *ticketIndex
	pool    *sessionpool.Pool
	budget  *spending.Budget
	stats   Stats

	progress atomic.Uint64   // the ledger's progress when the writer was last found alive
	ctx      context.Context // ends the lanes
	stop     context.CancelCauseFunc
	wg       sync.WaitGroup // lanes, and goroutines started by lanes
}

// New returns a manager not serving yet: call Recover first, after restoring Feeds.
func New(o Options) *Manager {
	o.QueueLimit = cmp.Or(o.QueueLimit, 1000)
	o.ApprovalTimeout = cmp.Or(o.ApprovalTimeout, 10*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LanesChanged == nil {
		o.LanesChanged = func(int) {}
	}
	ctx, stop := context.WithCancelCause(context.Background())
	ledger := &deliveringLedger{Ledger: o.Ledger, adapters: adapterstore.New(o.Ledger, o.Deliverers, o.Now, o.Log)}
	o.Ledger = ledger
	m := &Manager{
		Adapters: ledger.adapters,
		Feeds:    &feed.Broker{},
		o:        o,
		ctx:      ctx,
		stop:     stop,
		tickets:  &ticketIndex{open: map[core.MessageID]*core.Ticket{}},
		pool:     sessionpool.New(sessionpool.Limits{Sessions: o.MaxSessions}),
		budget:   &spending.Budget{Limit: o.DailyBudget},
	}
	m.lanes = newRegistry(m.startLane, o.LanesChanged)
	m.ChannelSettings = settings.New(ledger.Ledger, m.lanes.wake, o.Defaults)
	ledger.settings = m.ChannelSettings
	m.Lookup = &Lookup{o.Ledger, m}
	m.Directory = &Directory{m}
	m.Decider = &Decider{m, newOutsideDesk(m)}
	return m
}

// Recover continues the work of an earlier process: Recover starts lanes for open messages
// and live session hosts, and each lane attaches to the host and decides the fate of turns
// in flight. Recover returns once the lanes are started, before recovery completes. From then on
// tools answers the agents' requests to tools; nil where there are no tools.
func (m *Manager) Recover(ctx context.Context, tools ToolServer) error {
	m.tools = tools
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
	m.budget.Add(now, spent)
	own, err := m.o.Ledger.Settings(ctx)
	if err != nil {
		return fmt.Errorf("read the settings of channels: %w", err)
	}
	m.ChannelSettings.Fill(own)
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
	var outside []*core.Approval
	for i := range approvals {
		switch {
		case approvals[i].Kind == core.ApprovalContinue: // no turn waits for the approval
			continue
		case approvals[i].Channel == "":
			outside = append(outside, &approvals[i])
			continue
		}
		r := of(approvals[i].Channel)
		r.approvals = append(r.approvals, &approvals[i])
	}
	m.Decider.outside.voidLeft(ctx, outside)
	for _, key := range live {
		of(key).live = true
	}
	for _, first := range []bool{true, false} { // count all live sessions before starting more
		for key, r := range left {
			if r.live != first {
				continue
			}
			if _, err := m.lanes.findOrStart(key, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Manager) startLane(key core.ChannelKey, r *recovered) *lane {
	l := newLane(m, key)
	if r != nil && r.live {
		l.conv.slot.Adopt()
	}
	m.wg.Go(func() { l.run(m.ctx, r) })
	return l
}

// Detach stops serving and leaves the session hosts running. Detach returns when the lanes
// have ended.
func (m *Manager) Detach() {
	m.lanes.close()
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

// SaveFeeds returns the data of [feed.Broker.Restore] for the next process, or nil without
// data. Call SaveFeeds after Detach. The snapshot is valid for a single process, and for a
// short time.
func (m *Manager) SaveFeeds() (*feed.Snapshot, error) {
	return m.Feeds.Save(m.o.Now(), m.tickets.unresolved())
}

// publishUnpublished publishes outcomes recorded, but not published, by an earlier process.
// Outcomes of open messages are published later by the lanes.
func (m *Manager) publishUnpublished(ctx context.Context, open []core.Message) {
	waits := make(map[core.MessageID]bool, len(open))
	for i := range open {
		waits[open[i].ID] = true
	}
	for key, ids := range m.Feeds.Unpublished() {
		for _, id := range ids {
			if waits[id] {
				continue
			}
			if msg, err := m.o.Ledger.Message(ctx, id); err == nil && msg.State.Final() {
				m.Feeds.PublishUnpublished(key, &msg)
			}
		}
	}
}

// progressEvery is the interval between checks of the ledger writer's progress.
const progressEvery = 100 * time.Millisecond

// Alive returns nil once every lane and the ledger's writer have answered, proving no
// accepted message is stuck in the process. A lane waiting for the agent, a person or a
// failing disk still answers. A writer slowed by the disk counts as alive after finishing
// any write since the last check. The error names the lane or writer without an answer when
// ctx ended. Alive blocks until ctx ends at most, unless the manager itself is stuck.
func (m *Manager) Alive(ctx context.Context) error {
	written := make(chan struct{})
	m.o.Ledger.Write(core.Change{}, func(error) { close(written) })
	for _, l := range m.lanes.all() {
		_, err := ask(ctx, l.channel, func() bool { return true })
		if err != nil && !errors.Is(err, errRetired) && !wait.IsClosed(l.done) {
			return fmt.Errorf("channel %q does not answer: %w", l.key, err)
		}
	}
	return m.writerAlive(ctx, written)
}

// writerAlive returns nil once written is closed, or the ledger's writer has finished
// another write since writerAlive last returned nil.
func (m *Manager) writerAlive(ctx context.Context, written <-chan struct{}) error {
	look := time.NewTicker(progressEvery)
	defer look.Stop()
	for {
		now := m.o.Ledger.Progress()
		if m.progress.Swap(now) != now || wait.IsClosed(written) {
			return nil
		}
		select {
		case <-written:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the ledger's writer does not answer: %w", context.Cause(ctx))
		case <-look.C:
		}
	}
}
