package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Message returns a message as it is now.
func (m *ProcessManager) Message(ctx context.Context, id MessageID) (Message, error) {
	if t, ok := m.desk.find(id); ok {
		select {
		case <-t.done: // perhaps before the ledger has it
			return t.end()
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
	return m.o.Ledger.Message(context.WithoutCancel(ctx), id) // how long it was to be waited says nothing of this
}

// WaitOrPark is Wait that also returns once the message waits for what parks its
// channel.
func (m *ProcessManager) WaitOrPark(ctx context.Context, id MessageID) (Message, error) {
	if t, ok := m.desk.find(id); ok {
		select {
		case <-t.Parked():
			if !m.Place(id).Until.IsZero() { // else the channel has gone on
				return m.o.Ledger.Message(ctx, id)
			}
		case <-t.done:
		case <-ctx.Done():
		}
	}
	return m.Wait(ctx, id)
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
	all, err := m.o.Ledger.PendingApprovals(ctx)
	now := m.o.Now()
	return slices.DeleteFunc(all, func(a Approval) bool { return !a.pendingAt(now) }), err
}

// Subscribe sees everything that happens on the channel from now on.
func (m *ProcessManager) Subscribe(key ChannelKey) *Subscription { return m.hub.subscribe(key) }

// Resume sees everything that happened on the channel after an update, as its id
// says, and what happens from now on. When it is not known what followed, or the
// text is no id, the subscription has a gap: it begins with what is known.
func (m *ProcessManager) Resume(key ChannelKey, after string) *Subscription {
	return m.hub.resume(key, after)
}

// Stats returns counts for metrics.
func (m *ProcessManager) Stats() Stats {
	s := Stats{
		Turns: m.stats.turns.Load(), TurnErrors: m.stats.turnErrors.Load(), Resent: m.stats.resent.Load(),
		Interrupted: m.stats.interrupted.Load(), QueueRefused: m.stats.refused.Load(),
		Stalled: m.stats.stalled.Load(), Parked: m.stats.parked.Load(),
		Idled: m.stats.idled.Load(), Evicted: m.stats.evicted.Load(), Spending: m.Spending(),
	}
	for _, l := range m.allLanes() {
		s.Lanes++
		s.Sessions += int(l.gauge.sessions.Load())
		s.Running += int(l.gauge.running.Load())
		s.Waiting += int(l.gauge.waiting.Load())
	}
	return s
}

// Channels returns the state of every channel that has a history, a session or
// settings, sorted by key.
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
	for _, key := range m.settings.keys() {
		if _, known := byKey[key]; !known {
			byKey[key] = ChannelStatus{Key: key, State: StateIdle}
		}
	}
	for _, l := range m.allLanes() {
		st, err := l.status(ctx)
		if errors.Is(err, errRetired) {
			continue
		}
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
// history, nor a session, nor settings.
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
	if t.Deliveries, err = m.o.Ledger.MessageDeliveries(ctx, id); err != nil {
		return Trace{}, fmt.Errorf("read the deliveries of message %s: %w", id, err)
	}
	if msg.Turn == "" {
		t.Place = m.Place(id)
		return t, nil
	}
	turn, err := m.turnNow(ctx, msg.Channel, msg.Turn)
	if err != nil {
		return Trace{}, fmt.Errorf("read the turn of message %s: %w", id, err)
	}
	t.Turn, t.Members = &turn, turn.Members
	t.Approvals, err = m.o.Ledger.TurnApprovals(ctx, turn.ID)
	return t, err
}

// turnNow returns a turn with its timeline so far.
func (m *ProcessManager) turnNow(ctx context.Context, key ChannelKey, id TurnID) (Turn, error) {
	turn, err := m.o.Ledger.Turn(ctx, id)
	if err != nil || !turn.EndedAt.IsZero() {
		return turn, err
	}
	if l, ok := m.known(key); ok {
		if turn.Marks = l.marks(ctx, id); turn.Marks != nil {
			return turn, nil
		}
	}
	return m.o.Ledger.Turn(ctx, id) // it has ended meanwhile
}

// OpenMessages returns the messages of an adapter that have no outcome yet, oldest
// first.
func (m *ProcessManager) OpenMessages(ctx context.Context, adapter string) ([]Message, error) {
	all, _, err := m.o.Ledger.Open(ctx)
	return slices.DeleteFunc(all, func(msg Message) bool { return msg.Adapter != adapter }), err
}
