package lanes

import (
	"context"
	"slices"

	"bareclaw/core"
)

func (l *lane) status(ctx context.Context) (core.ChannelStatus, error) {
	var st core.ChannelStatus
	err := l.call(ctx, func() { st = l.present() })
	if err != nil {
		return core.ChannelStatus{}, err
	}
	return st, nil
}

// present returns the lane's present state.
func (l *lane) present() core.ChannelStatus {
	st := core.ChannelStatus{
		Key: l.key, State: l.state(), SessionID: l.sessionID,
		Waiting: len(l.pending), Approvals: len(l.pendingApprovals), Why: l.why(), HostBlocked: l.session.blocked(), Model: l.model,
	}
	if l.session != nil {
		st.HostPID, st.AgentPID = l.session.info.HostPID, l.session.info.AgentPID
	}
	for _, f := range l.inflight {
		if !f.answered {
			st.Running += len(f.members)
		}
	}
	switch f := l.running(); {
	case f != nil:
		st.Turn, st.Since = f.turn.ID, f.turn.BegunAt
		if l.session != nil {
			st.Activity = l.session.activity.tool
		}
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
	case l.opening || l.session != nil && !l.session.ready:
		return core.StateStarting
	case l.session != nil:
		return core.StateReady
	}
	return core.StateIdle
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
