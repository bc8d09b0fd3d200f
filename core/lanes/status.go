package lanes

import "bareclaw/core"

func (l *lane) present() core.ChannelStatus {
	st := core.ChannelStatus{
		Key: l.key, State: l.state(), SessionID: l.conv.id,
		Waiting: len(l.queue.items), Approvals: len(l.desk.pending), Why: l.queue.why(), HostBlocked: l.conv.session.blocked(), Model: l.conv.model,
	}
	if l.conv.session != nil {
		st.HostPID, st.AgentPID = l.conv.session.info.HostPID, l.conv.session.info.AgentPID
	}
	for _, f := range l.turns.list {
		if !f.answered {
			st.Running += len(f.members)
		}
	}
	switch f := l.turns.running(); {
	case f != nil:
		st.Turn, st.Since = f.turn.ID, f.turn.BegunAt
		if l.conv.session != nil {
			st.Activity = l.conv.session.activity.tool
		}
	case l.queue.parked != nil:
		st.Since, st.Until, st.Parked = l.queue.parked.since, l.queue.parked.until, l.queue.parked.code
	}
	return st
}

func (l *lane) state() string {
	switch {
	case l.conv.slot.Waiting():
		return core.StateWaiting
	case l.turns.running() != nil:
		return core.StateRunning
	case l.queue.parked != nil:
		return core.StateParked
	case l.conv.ending:
		return core.StateEnding
	case l.conv.opening || l.conv.session != nil && !l.conv.session.ready:
		return core.StateStarting
	case l.conv.session != nil:
		return core.StateReady
	}
	return core.StateIdle
}
