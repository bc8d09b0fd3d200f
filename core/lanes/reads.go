package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// Message returns the present state of a message.
func (m *Manager) Message(ctx context.Context, id core.MessageID) (core.Message, error) {
	if t, ok := m.tickets.find(id); ok {
		select {
		case <-t.Done(): // perhaps before the ledger has the outcome
			return t.Result()
		default:
		}
	}
	return m.o.Ledger.Message(ctx, id)
}

// Wait returns the message once there is an outcome. When ctx ends first, Wait returns the
// message in the present state with the context's error.
func (m *Manager) Wait(ctx context.Context, id core.MessageID) (core.Message, error) {
	if t, ok := m.tickets.find(id); ok {
		if msg, err := t.Wait(ctx); err == nil {
			return msg, nil
		}
		msg, err := m.o.Ledger.Message(context.WithoutCancel(ctx), id)
		if err != nil || msg.State.Final() {
			return msg, err
		}
		return msg, context.Cause(ctx)
	}
	return m.o.Ledger.Message(context.WithoutCancel(ctx), id) // ctx only bounds the waiting, not the read
}

// WaitOrPark is Wait, but also returns once the message waits on a parked channel.
func (m *Manager) WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error) {
	if t, ok := m.tickets.find(id); ok {
		select {
		case <-t.Parked():
			if !m.QueuePosition(id).Until.IsZero() { // else the channel is no longer parked
				return m.o.Ledger.Message(ctx, id)
			}
		case <-t.Done():
		case <-ctx.Done():
		}
	}
	return m.Wait(ctx, id)
}

// Messages returns the newest messages of a channel; see Ledger.Messages.
func (m *Manager) Messages(ctx context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error) {
	return m.o.Ledger.Messages(ctx, key, limit, before)
}

// Backgrounds returns the newest background results of a channel, newest first.
func (m *Manager) Backgrounds(ctx context.Context, key core.ChannelKey, limit int) ([]core.Background, error) {
	return m.o.Ledger.Backgrounds(ctx, key, limit)
}

// Balance returns the ledger's account of all messages.
func (m *Manager) Balance(ctx context.Context) (core.Balance, error) {
	return m.o.Ledger.Balance(ctx)
}

// Approvals returns the pending approvals, oldest first.
func (m *Manager) Approvals(ctx context.Context) ([]core.Approval, error) {
	all, err := m.o.Ledger.PendingApprovals(ctx)
	now := m.o.Now()
	return slices.DeleteFunc(all, func(a core.Approval) bool { return !a.PendingAt(now) }), err
}

// Subscribe returns a subscription to all updates of the channel from now on.
func (m *Manager) Subscribe(key core.ChannelKey) *feed.Subscription { return m.feeds.Subscribe(key) }

// Resume returns a subscription to all updates of the channel after the update with the id
// after. If the following updates are unknown, or after is no valid id, the subscription has
// a gap and begins with the known updates.
func (m *Manager) Resume(key core.ChannelKey, after string) *feed.Subscription {
	return m.feeds.Resume(key, after)
}

// Stats returns counts for metrics.
func (m *Manager) Stats() Stats {
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

// Channels returns the state of every channel with a history, a session or settings, sorted
// by key.
func (m *Manager) Channels(ctx context.Context) ([]core.ChannelStatus, error) {
	records, err := m.o.Ledger.Channels(ctx)
	if err != nil {
		return nil, fmt.Errorf("list channels: %w", err)
	}
	byKey := map[core.ChannelKey]core.ChannelStatus{}
	for _, r := range records {
		byKey[r.Key] = core.ChannelStatus{Key: r.Key, State: core.StateIdle, Messages: r.Messages, LastAt: r.LastAt}
	}
	for key, id := range m.o.Sessions.All() {
		st := byKey[key]
		st.Key, st.State, st.SessionID = key, core.StateIdle, id
		byKey[key] = st
	}
	for _, key := range m.settings.keys() {
		if _, known := byKey[key]; !known {
			byKey[key] = core.ChannelStatus{Key: key, State: core.StateIdle}
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
	all := make([]core.ChannelStatus, 0, len(byKey))
	for _, st := range byKey {
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b core.ChannelStatus) int { return cmp.Compare(a.Key, b.Key) })
	return all, nil
}

// Channel returns the state of a channel, or ErrNotFound for a channel without a history, a
// session and settings.
func (m *Manager) Channel(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error) {
	all, err := m.Channels(ctx)
	if err != nil {
		return core.ChannelStatus{}, err
	}
	for _, st := range all {
		if st.Key == key {
			return st, nil
		}
	}
	return core.ChannelStatus{}, fmt.Errorf("channel %q: %w", key, core.ErrNotFound)
}

// Trace returns the timeline of one message.
func (m *Manager) Trace(ctx context.Context, id core.MessageID) (core.Trace, error) {
	msg, err := m.Message(ctx, id)
	if err != nil {
		return core.Trace{}, err
	}
	t := core.Trace{Message: msg}
	if t.Deliveries, err = m.o.Ledger.MessageDeliveries(ctx, id); err != nil {
		return core.Trace{}, fmt.Errorf("read the deliveries of message %s: %w", id, err)
	}
	if msg.Turn == "" {
		t.QueuePosition = m.QueuePosition(id)
		return t, nil
	}
	turn, err := m.turnNow(ctx, msg.Channel, msg.Turn)
	if err != nil {
		return core.Trace{}, fmt.Errorf("read the turn of message %s: %w", id, err)
	}
	t.Turn, t.Members = &turn, turn.Members
	t.Approvals, err = m.o.Ledger.TurnApprovals(ctx, turn.ID)
	return t, err
}

// turnNow returns a turn with the timeline up to now.
func (m *Manager) turnNow(ctx context.Context, key core.ChannelKey, id core.TurnID) (core.Turn, error) {
	turn, err := m.o.Ledger.Turn(ctx, id)
	if err != nil || !turn.EndedAt.IsZero() {
		return turn, err
	}
	if l, ok := m.known(key); ok {
		if turn.Marks = l.marks(ctx, id); turn.Marks != nil {
			return turn, nil
		}
	}
	return m.o.Ledger.Turn(ctx, id) // the turn has ended meanwhile
}

// OpenMessages returns the adapter's messages without an outcome, oldest first.
func (m *Manager) OpenMessages(ctx context.Context, adapter string) ([]core.Message, error) {
	all, _, err := m.o.Ledger.Open(ctx)
	return slices.DeleteFunc(all, func(msg core.Message) bool { return msg.Adapter != adapter }), err
}
