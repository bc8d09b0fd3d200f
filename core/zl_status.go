package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

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
