package core

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Options are what a ProcessManager works with. Ledger, Agent, Sessions and Log
// are required.
type Options struct {
	Ledger   Ledger
	Agent    Agent
	Sessions SessionIDs
	Log      *slog.Logger

	QueueLimit      int            // messages without an outcome a channel; 0 means 1000
	TurnTimeout     time.Duration  // a turn that takes longer is interrupted; 0 means never
	Approvals       ApprovalPolicy // who is asked for tool permissions
	ApprovalTimeout time.Duration  // how long an approval waits; 0 means 10 minutes
	Greeting        []Notice       // told once with the first reply of each channel
	Now             func() time.Time
}

// ApprovalPolicy says whether tool permission requests wait for a person.
type ApprovalPolicy string

// The approval policies. The zero value asks where the adapter of the message
// can ask, and denies elsewhere.
const (
	ApprovalsByAdapter ApprovalPolicy = ""
	ApprovalsAsk       ApprovalPolicy = "ask"
	ApprovalsDeny      ApprovalPolicy = "deny"
)

// A ProcessManager serves all channels: it has one lane for each, which owns the
// channel's queue and its agent session. All methods are safe for concurrent use.
type ProcessManager struct {
	o    Options
	desk desk
	hub  hub

	stats counters
	ctx   context.Context // ends the lanes
	stop  context.CancelCauseFunc
	wg    sync.WaitGroup // lanes and what they started

	mu     sync.Mutex // guards the fields below
	lanes  map[ChannelKey]*lane
	closed bool
}

type counters struct {
	turns, turnErrors, resent, interrupted, refused atomic.Int64
}

// Stats are counts since the start of the process and the present state.
type Stats struct {
	Turns, TurnErrors, Resent, Interrupted, QueueRefused int64
	Lanes, Sessions, Running, Waiting                    int
}

// New returns a manager that serves nothing yet: Recover comes first.
func New(o Options) *ProcessManager {
	o.QueueLimit = cmp.Or(o.QueueLimit, 1000)
	o.ApprovalTimeout = cmp.Or(o.ApprovalTimeout, 10*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, stop := context.WithCancelCause(context.Background())
	return &ProcessManager{o: o, ctx: ctx, stop: stop, lanes: map[ChannelKey]*lane{}}
}

// Recover takes up what an earlier process left: it attaches to live session
// hosts, gives open messages their lanes, and lets those decide what becomes of
// turns in flight. It returns once everything is under way, not when it is done.
func (m *ProcessManager) Recover(ctx context.Context) error {
	messages, turns, err := m.o.Ledger.Open(ctx)
	if err != nil {
		return fmt.Errorf("read open messages: %w", err)
	}
	approvals, err := m.o.Ledger.PendingApprovals(ctx)
	if err != nil {
		return fmt.Errorf("read pending approvals: %w", err)
	}
	live, err := m.o.Agent.Live(ctx)
	if err != nil {
		return fmt.Errorf("find live session hosts: %w", err)
	}
	left := map[ChannelKey]*remains{}
	of := func(key ChannelKey) *remains {
		if left[key] == nil {
			left[key] = &remains{}
		}
		return left[key]
	}
	for i := range messages {
		r := of(messages[i].Channel)
		r.messages = append(r.messages, &messages[i])
		m.desk.add(newTicket(messages[i]))
	}
	for i := range turns {
		r := of(turns[i].Channel)
		r.turns = append(r.turns, &turns[i])
	}
	for i := range approvals {
		r := of(approvals[i].Channel)
		r.approvals = append(r.approvals, &approvals[i])
	}
	for _, key := range live {
		of(key)
	}
	for key, r := range left {
		m.startLane(key, r)
	}
	return nil
}

// lane returns the channel's lane, making it if need be.
func (m *ProcessManager) lane(key ChannelKey) (*lane, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	if l := m.lanes[key]; l != nil {
		return l, nil
	}
	return m.newLaneLocked(key, nil), nil
}

func (m *ProcessManager) startLane(key ChannelKey, r *remains) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.newLaneLocked(key, r)
}

func (m *ProcessManager) newLaneLocked(key ChannelKey, r *remains) *lane {
	l := newLane(m, key)
	m.lanes[key] = l
	m.wg.Go(func() { l.run(m.ctx, r) })
	return l
}

// known returns the channel's lane if there is one.
func (m *ProcessManager) known(key ChannelKey) (*lane, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.lanes[key]
	return l, ok
}

func (m *ProcessManager) allLanes() []*lane {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*lane, 0, len(m.lanes))
	for _, l := range m.lanes {
		all = append(all, l)
	}
	return all
}

// Submit accepts a message: when it returns without an error the message is
// durable and will have an outcome. It blocks for one sync of the ledger, not
// for the turn. When ctx ends first the message may still have been accepted.
// Errors: ErrQueueFull, ErrKeyReused, ErrStorageFull, ErrStorage, ErrBadContent,
// ErrClosed.
func (m *ProcessManager) Submit(ctx context.Context, s Submission) (*Ticket, error) {
	if err := checkContent(s.Content); err != nil {
		return nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make a message id: %w", err)
	}
	msg := Message{
		ID: MessageID(id.String()), Channel: s.Channel, Adapter: s.Adapter, Origin: s.Origin,
		Content: s.Content, Mode: cmp.Or(s.Mode, Collect), SourceKey: s.SourceKey, SourceHash: s.SourceHash,
		RetryOf: s.RetryOf, CanAsk: s.CanAsk, ReceivedAt: m.o.Now(), State: Waiting,
	}
	l, err := m.lane(s.Channel)
	if err != nil {
		return nil, err
	}
	t := newTicket(msg)
	m.desk.add(t)
	accepted := make(chan error, 1)
	l.post(func() { l.admit(&item{msg: &msg, accepted: accepted}) })
	select {
	case err = <-accepted:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.gone:
		err = ErrClosed
		select {
		case err = <-accepted:
		default:
		}
	}
	if err == nil {
		return t, nil
	}
	if dup := (*DuplicateError)(nil); errors.As(err, &dup) {
		return m.existing(ctx, s, dup)
	}
	return nil, err
}

// existing returns the ticket of the message that was accepted under the same
// source key.
func (m *ProcessManager) existing(ctx context.Context, s Submission, dup *DuplicateError) (*Ticket, error) {
	if dup.Hash != s.SourceHash {
		return nil, fmt.Errorf("%w: it belongs to message %s", ErrKeyReused, dup.Existing)
	}
	if t, ok := m.desk.find(dup.Existing); ok {
		return &Ticket{Message: t.Message, Existing: true, future: t.future}, nil
	}
	old, err := m.o.Ledger.Message(ctx, dup.Existing)
	if err != nil {
		return nil, fmt.Errorf("read the message of a repeated source key: %w", err)
	}
	t := newTicket(old)
	t.Existing, t.outcome = true, old
	close(t.done)
	return t, nil
}

func checkContent(c Content) error {
	if len(c.Blocks) == 0 && c.Text == "" {
		return fmt.Errorf("%w: it is empty", ErrBadContent)
	}
	if !utf8.ValidString(c.Text) {
		return fmt.Errorf("%w: the text is not valid UTF-8", ErrBadContent)
	}
	for i, b := range c.Blocks {
		if !bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) { // the rest is seen when the turn is composed
			return fmt.Errorf("%w: block %d is not a JSON object", ErrBadContent, i)
		}
	}
	return nil
}

// Message returns a message as it is now.
func (m *ProcessManager) Message(ctx context.Context, id MessageID) (Message, error) {
	if t, ok := m.desk.find(id); ok {
		select {
		case <-t.done: // perhaps before the ledger has it
			return t.outcome, nil
		default:
		}
	}
	return m.o.Ledger.Message(ctx, id)
}

// Wait returns the message once it has its outcome. When ctx ends first it
// returns the message as it is, with the context's error.
func (m *ProcessManager) Wait(ctx context.Context, id MessageID) (Message, error) {
	if t, ok := m.desk.find(id); ok {
		if msg, err := t.wait(ctx); err == nil {
			return msg, nil
		}
		msg, err := m.o.Ledger.Message(context.WithoutCancel(ctx), id)
		if err != nil || msg.State.Final() {
			return msg, err
		}
		return msg, context.Cause(ctx)
	}
	return m.o.Ledger.Message(ctx, id)
}

// Messages returns the newest messages of a channel; see Ledger.Messages.
func (m *ProcessManager) Messages(ctx context.Context, key ChannelKey, limit int, before MessageID) ([]Message, error) {
	return m.o.Ledger.Messages(ctx, key, limit, before)
}

// Backgrounds returns the newest background results of a channel, newest first.
func (m *ProcessManager) Backgrounds(ctx context.Context, key ChannelKey, limit int) ([]Background, error) {
	return m.o.Ledger.Backgrounds(ctx, key, limit)
}

// Balance returns the ledger's account of all messages.
func (m *ProcessManager) Balance(ctx context.Context) (Balance, error) {
	return m.o.Ledger.Balance(ctx)
}

// Approvals returns the pending approvals, oldest first.
func (m *ProcessManager) Approvals(ctx context.Context) ([]Approval, error) {
	return m.o.Ledger.PendingApprovals(ctx)
}

// Subscribe sees everything that happens on the channel from now on.
func (m *ProcessManager) Subscribe(key ChannelKey) *Subscription { return m.hub.subscribe(key) }

// Stats returns counts for metrics.
func (m *ProcessManager) Stats() Stats {
	s := Stats{
		Turns: m.stats.turns.Load(), TurnErrors: m.stats.turnErrors.Load(), Resent: m.stats.resent.Load(),
		Interrupted: m.stats.interrupted.Load(), QueueRefused: m.stats.refused.Load(),
	}
	for _, l := range m.allLanes() {
		s.Lanes++
		s.Sessions += int(l.gauge.sessions.Load())
		s.Running += int(l.gauge.running.Load())
		s.Waiting += int(l.gauge.waiting.Load())
	}
	return s
}

// Channels returns the state of every channel that has a history or a session,
// sorted by key.
func (m *ProcessManager) Channels(ctx context.Context) ([]ChannelStatus, error) {
	records, err := m.o.Ledger.Channels(ctx)
	if err != nil {
		return nil, fmt.Errorf("list channels: %w", err)
	}
	byKey := map[ChannelKey]ChannelStatus{}
	for _, r := range records {
		byKey[r.Key] = ChannelStatus{Key: r.Key, State: StateIdle, Messages: r.Messages, LastAt: r.LastAt}
	}
	for key, id := range m.o.Sessions.All() {
		st := byKey[key]
		st.Key, st.State, st.SessionID = key, StateIdle, id
		byKey[key] = st
	}
	for _, l := range m.allLanes() {
		st, err := l.status(ctx)
		if err != nil {
			return nil, err
		}
		st.Messages, st.LastAt = byKey[l.key].Messages, byKey[l.key].LastAt
		st.SessionID = cmp.Or(st.SessionID, byKey[l.key].SessionID)
		byKey[l.key] = st
	}
	all := make([]ChannelStatus, 0, len(byKey))
	for _, st := range byKey {
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b ChannelStatus) int { return cmp.Compare(a.Key, b.Key) })
	return all, nil
}

// Channel returns the state of one channel, or ErrNotFound if it has neither a
// history nor a session.
func (m *ProcessManager) Channel(ctx context.Context, key ChannelKey) (ChannelStatus, error) {
	all, err := m.Channels(ctx)
	if err != nil {
		return ChannelStatus{}, err
	}
	for _, st := range all {
		if st.Key == key {
			return st, nil
		}
	}
	return ChannelStatus{}, fmt.Errorf("channel %q: %w", key, ErrNotFound)
}

// Trace returns the timeline of one message.
func (m *ProcessManager) Trace(ctx context.Context, id MessageID) (Trace, error) {
	msg, err := m.Message(ctx, id)
	if err != nil {
		return Trace{}, err
	}
	t := Trace{Message: msg}
	if msg.Turn == "" {
		t.Position = m.Position(id)
		return t, nil
	}
	turn, err := m.o.Ledger.Turn(ctx, msg.Turn)
	if err != nil {
		return Trace{}, fmt.Errorf("read the turn of message %s: %w", id, err)
	}
	if l, ok := m.known(msg.Channel); ok && turn.EndedAt.IsZero() {
		turn.Marks = l.marks(ctx, turn.ID)
	}
	t.Turn, t.Members = &turn, turn.Members
	t.Approvals, err = m.o.Ledger.TurnApprovals(ctx, turn.ID)
	return t, err
}

// A Trace is one message's timeline. Turn is nil before dispatch; Position is
// its place in the queue, 1 being the next, or 0 when it does not wait.
type Trace struct {
	Message   Message
	Turn      *Turn
	Members   []MessageID
	Approvals []Approval
	Position  int
}

// Detach stops serving and leaves the session hosts at work. It returns when
// the lanes have ended.
func (m *ProcessManager) Detach() {
	m.close()
	m.stop(ErrClosed)
	m.wg.Wait()
}

// Shutdown stops serving and ends every session host and its agent. Turns in
// flight stay open in the ledger. It returns when all are gone or ctx ends.
func (m *ProcessManager) Shutdown(ctx context.Context) error {
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

func (m *ProcessManager) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}
