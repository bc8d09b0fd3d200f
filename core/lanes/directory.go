package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"bareclaw/core"
)

// A Directory reports the state of all channels. All methods are safe for concurrent use.
type Directory struct{ m *Manager }

// Stats are counts since the start of the process.
type Stats struct {
	Turns, TurnErrors, Resent, Interrupted, QueueRefused, Stalled atomic.Int64
	Parked, Idled, Evicted                                        atomic.Int64 // channels parked; sessions ended unused; sessions ended for another channel

	answeredAt atomic.Pointer[time.Time] // when a turn was last answered
}

// Stats returns counts for metrics.
func (d *Directory) Stats() *Stats { return &d.m.stats }

// Lanes returns the number of channels with a lane.
func (d *Directory) Lanes() int { return len(d.m.lanes.all()) }

// Channels returns the state of every channel with a history, a session or settings, sorted
// by key.
func (d *Directory) Channels(ctx context.Context) ([]core.ChannelStatus, error) {
	records, err := d.m.o.Ledger.Channels(ctx)
	if err != nil {
		return nil, fmt.Errorf("list channels: %w", err)
	}
	byKey := map[core.ChannelKey]core.ChannelStatus{}
	known := func(key core.ChannelKey) core.ChannelStatus {
		st := byKey[key]
		st.Key, st.State = key, core.StateIdle
		return st
	}
	for _, r := range records {
		st := known(r.Key)
		st.Messages, st.LastAt = r.Messages, r.LastAt
		byKey[r.Key] = st
	}
	for key, id := range d.m.o.Sessions.All() {
		st := known(key)
		st.SessionID = id
		byKey[key] = st
	}
	for _, key := range d.m.ChannelSettings.Keys() {
		byKey[key] = known(key)
	}
	active, err := d.active(ctx)
	if err != nil {
		return nil, err
	}
	for _, st := range active {
		old := byKey[st.Key]
		st.Messages, st.LastAt, st.SessionID = old.Messages, old.LastAt, cmp.Or(st.SessionID, old.SessionID)
		byKey[st.Key] = st
	}
	return slices.SortedFunc(maps.Values(byKey), byChannel), nil
}

func byChannel(a, b core.ChannelStatus) int { return cmp.Compare(a.Key, b.Key) }

func (d *Directory) active(ctx context.Context) ([]core.ChannelStatus, error) {
	var all []core.ChannelStatus
	for _, l := range d.m.lanes.all() {
		st, err := ask(ctx, l.channel, l.present)
		switch {
		case errors.Is(err, errRetired):
		case err != nil:
			return nil, err
		default:
			all = append(all, st)
		}
	}
	return all, nil
}

// Channel returns the state of a channel, or ErrNotFound for a channel without a history, a
// session and settings.
func (d *Directory) Channel(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error) {
	all, err := d.Channels(ctx)
	if err != nil {
		return core.ChannelStatus{}, err
	}
	if i := slices.IndexFunc(all, func(st core.ChannelStatus) bool { return st.Key == key }); i >= 0 {
		return all[i], nil
	}
	return core.ChannelStatus{}, fmt.Errorf("channel %q: %w", key, core.ErrNotFound)
}

// Overview returns the state of the active channels. Unlike Channels, Overview does not read
// the ledger.
func (d *Directory) Overview(ctx context.Context) (core.Overview, error) {
	o := core.Overview{Limit: d.m.pool.Limits().Sessions, Active: []core.ChannelStatus{}}
	idle := d.m.o.Sessions.All()
	active, err := d.active(ctx)
	if err != nil {
		return core.Overview{}, err
	}
	for _, st := range active {
		if st.State == core.StateIdle {
			continue
		}
		delete(idle, st.Key)
		o.Active = append(o.Active, st)
		if st.HostPID != 0 {
			o.Hosts++
		}
	}
	o.Idle = len(idle)
	if at := d.m.stats.answeredAt.Load(); at != nil {
		o.Answered = *at
	}
	slices.SortFunc(o.Active, byChannel)
	return o, nil
}

// Present returns the present state of one channel, without Messages and LastAt. Unlike
// Channel, Present does not read the ledger, and reports an unknown channel as idle.
func (d *Directory) Present(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error) {
	st := core.ChannelStatus{Key: key, State: core.StateIdle}
	if l, ok := d.m.lanes.find(key); ok {
		now, err := ask(ctx, l.channel, l.present)
		if err == nil {
			st = now
		} else if !errors.Is(err, errRetired) {
			return core.ChannelStatus{}, err
		}
	}
	if st.SessionID == "" {
		st.SessionID, _ = d.m.o.Sessions.Get(key)
	}
	return st, nil
}

// Usage returns the cost of a channel's turns, in total and for the present calendar day.
func (d *Directory) Usage(ctx context.Context, key core.ChannelKey) (core.Usage, error) {
	now := d.m.o.Now()
	year, month, day := now.Date()
	return d.m.o.Ledger.Usage(ctx, key, time.Date(year, month, day, 0, 0, 0, 0, now.Location()))
}

// Spending returns the amount spent today, as reported by the agents.
func (d *Directory) Spending() core.Spending {
	now := d.m.o.Now()
	return core.Spending{Day: core.Day(now), Spent: d.m.budget.On(core.Day(now)), Limit: d.m.budget.Limit}
}

func (l *lane) present() core.ChannelStatus {
	st := core.ChannelStatus{
		Key:         l.key,
		State:       l.state(),
		SessionID:   l.conv.id,
		Waiting:     len(l.queue.items),
		Approvals:   len(l.desk.pending),
		Why:         l.queue.why(),
		HostBlocked: l.conv.session.blocked(),
		Model:       l.conv.model,
	}
	if l.conv.session != nil {
		st.HostPID, st.AgentPID, st.Version = l.conv.session.info.HostPID, l.conv.session.info.AgentPID, l.conv.session.info.Version
		st.Background = l.conv.session.background.names
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
