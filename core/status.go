package core

import (
	"context"
	"slices"
	"time"
)

// The states of a channel.
const (
	StateIdle     = "idle" // no process
	StateStarting = "starting"
	StateReady    = "ready"
	StateRunning  = "running"
)

// ChannelStatus is the present state of a channel.
type ChannelStatus struct {
	Key               ChannelKey
	State             string
	SessionID         string
	HostPID, AgentPID int
	Waiting, Running  int // messages
	Turn              TurnID
	Activity          string // the tool in use
	Messages          int    // ever accepted
	LastAt            time.Time
	Approvals         int // pending
}

func (l *lane) status(ctx context.Context) (ChannelStatus, error) {
	var st ChannelStatus
	err := l.call(ctx, func() {
		st = ChannelStatus{Key: l.key, State: StateIdle, SessionID: l.sessionID, Waiting: len(l.pending), Approvals: len(l.asked)}
		if l.session != nil {
			st.HostPID, st.AgentPID = l.info.HostPID, l.info.AgentPID
			st.State = StateReady
		}
		if l.opening || l.session != nil && !l.ready {
			st.State = StateStarting
		}
		for _, f := range l.flights {
			if !f.answered {
				st.Running += len(f.items)
			}
		}
		if f := l.running(); f != nil {
			st.State, st.Turn, st.Activity = StateRunning, f.turn.ID, l.activity
		}
	})
	if err != nil {
		return ChannelStatus{}, err
	}
	return st, nil
}

// Position returns the message's place in its channel's queue, 1 being the
// next, or 0 when it does not wait.
func (m *ProcessManager) Position(id MessageID) int {
	t, ok := m.desk.find(id)
	if !ok {
		return 0
	}
	l, ok := m.known(t.Message.Channel)
	if !ok {
		return 0
	}
	pos := 0
	if err := l.call(m.ctx, func() { pos = l.position(id) }); err != nil {
		return 0 // shutting down
	}
	return pos
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
