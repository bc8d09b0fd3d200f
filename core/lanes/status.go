package lanes

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"bareclaw/core"
)

// Overview returns the state of the active channels. Unlike Channels, Overview does not read
// the ledger.
func (m *Manager) Overview(ctx context.Context) (core.Overview, error) {
	o := core.Overview{Limit: m.pool.limit, Active: []core.ChannelStatus{}}
	idle := m.o.Sessions.All()
	for _, l := range m.allLanes() {
		st, err := l.status(ctx)
		switch {
		case errors.Is(err, errRetired):
			continue
		case err != nil:
			return core.Overview{}, err
		case st.State == core.StateIdle:
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
	slices.SortFunc(o.Active, func(a, b core.ChannelStatus) int { return cmp.Compare(a.Key, b.Key) })
	return o, nil
}

func (l *lane) status(ctx context.Context) (core.ChannelStatus, error) {
	var st core.ChannelStatus
	err := l.call(ctx, func() { st = l.present() })
	if err != nil {
		return core.ChannelStatus{}, err
	}
	return st, nil
}

// Present returns the present state of one channel, without Messages and LastAt. Unlike
// Channel, Present does not read the ledger, and reports an unknown channel as idle.
func (m *Manager) Present(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error) {
	st := core.ChannelStatus{Key: key, State: core.StateIdle}
	if l, ok := m.known(key); ok {
		now, err := l.status(ctx)
		if err == nil {
			st = now
		} else if !errors.Is(err, errRetired) {
			return core.ChannelStatus{}, err
		}
	}
	if st.SessionID == "" {
		st.SessionID, _ = m.o.Sessions.Get(key)
	}
	return st, nil
}

// present returns the lane's present state.
func (l *lane) present() core.ChannelStatus {
	st := core.ChannelStatus{
		Key: l.key, State: l.state(), SessionID: l.sessionID, HostPID: l.info.HostPID, AgentPID: l.info.AgentPID,
		Waiting: len(l.pending), Approvals: len(l.pendingApprovals), Why: l.why(), HostBlocked: l.hostBlocked, Model: l.model,
	}
	for _, f := range l.inflight {
		if !f.answered {
			st.Running += len(f.members)
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
	case l.slot == slotQueued:
		return core.StateWaiting
	case l.running() != nil:
		return core.StateRunning
	case l.parked != nil:
		return core.StateParked
	case l.ending:
		return core.StateEnding
	case l.opening || l.session != nil && !l.ready:
		return core.StateStarting
	case l.session != nil:
		return core.StateReady
	}
	return core.StateIdle
}

// QueuePosition returns the message's position in the channel's queue, or the zero value for
// a message unknown or not waiting.
func (m *Manager) QueuePosition(id core.MessageID) core.QueuePosition {
	t, ok := m.tickets.find(id)
	if !ok {
		return core.QueuePosition{}
	}
	l, ok := m.known(t.Message.Channel)
	if !ok {
		return core.QueuePosition{}
	}
	var at core.QueuePosition
	if err := l.call(m.ctx, func() { at = l.placeOf(id) }); err != nil {
		return core.QueuePosition{} // shutting down, or no longer waiting
	}
	return at
}

func (l *lane) placeOf(id core.MessageID) core.QueuePosition {
	at := core.QueuePosition{Position: l.position(id)}
	if at.Position == 0 {
		return at
	}
	at.Why = l.why()
	if l.parked != nil {
		at.Until = l.parked.until
	}
	return at
}

func (l *lane) position(id core.MessageID) int {
	return 1 + slices.IndexFunc(l.pending, func(it *queued) bool { return it.msg.ID == id })
}

// marks returns the timeline up to now of a turn in flight, or nil.
func (l *lane) marks(ctx context.Context, id core.TurnID) []core.Mark {
	var marks []core.Mark
	err := l.call(ctx, func() {
		if f := l.findInflight(id); f != nil {
			marks = slices.Clone(f.turn.Marks)
		}
	})
	if err != nil {
		return nil
	}
	return marks
}
