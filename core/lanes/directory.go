package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"bareclaw/core"
	"bareclaw/core/sessionpool"
	"bareclaw/core/settings"
	"bareclaw/core/spending"
)

// A Directory reports the state of all channels. All methods are safe for concurrent use.
type Directory struct {
	ledger   core.Ledger
	sessions core.SessionIDs
	settings *settings.Cache
	lanes    *registry
	pool     *sessionpool.Pool
	budget   *spending.Budget
	stats    *counters
	now      func() time.Time
}

type counters struct {
	turns, turnErrors, resent, interrupted, refused, stalled, parked, idled, evicted atomic.Int64
	answeredAt                                                                       atomic.Pointer[time.Time] // when a turn was last answered
}

// Stats holds counts since the start of the process, and the present state.
type Stats struct {
	Turns, TurnErrors, Resent, Interrupted, QueueRefused, Stalled int64
	Parked, Idled, Evicted                                        int64 // channels parked; sessions ended unused; sessions ended for another channel
	Lanes, Sessions, Running, Waiting                             int
	Spending                                                      core.Spending
}

// Stats returns counts for metrics.
func (d *Directory) Stats() Stats {
	s := Stats{
		Turns: d.stats.turns.Load(), TurnErrors: d.stats.turnErrors.Load(), Resent: d.stats.resent.Load(),
		Interrupted: d.stats.interrupted.Load(), QueueRefused: d.stats.refused.Load(),
		Stalled: d.stats.stalled.Load(), Parked: d.stats.parked.Load(),
		Idled: d.stats.idled.Load(), Evicted: d.stats.evicted.Load(), Spending: d.Spending(),
	}
	for _, l := range d.lanes.all() {
		s.Lanes++
		s.Sessions += int(l.gauge.sessions.Load())
		s.Running += int(l.gauge.running.Load())
		s.Waiting += int(l.gauge.waiting.Load())
	}
	return s
}

// Channels returns the state of every channel with a history, a session or settings, sorted
// by key.
func (d *Directory) Channels(ctx context.Context) ([]core.ChannelStatus, error) {
	records, err := d.ledger.Channels(ctx)
	if err != nil {
		return nil, fmt.Errorf("list channels: %w", err)
	}
	byKey := map[core.ChannelKey]core.ChannelStatus{}
	for _, r := range records {
		byKey[r.Key] = core.ChannelStatus{Key: r.Key, State: core.StateIdle, Messages: r.Messages, LastAt: r.LastAt}
	}
	for key, id := range d.sessions.All() {
		st := byKey[key]
		st.Key, st.State, st.SessionID = key, core.StateIdle, id
		byKey[key] = st
	}
	for _, key := range d.settings.Keys() {
		if _, known := byKey[key]; !known {
			byKey[key] = core.ChannelStatus{Key: key, State: core.StateIdle}
		}
	}
	active, err := d.active(ctx)
	if err != nil {
		return nil, err
	}
	for _, st := range active {
		st.Messages, st.LastAt = byKey[st.Key].Messages, byKey[st.Key].LastAt
		st.SessionID = cmp.Or(st.SessionID, byKey[st.Key].SessionID)
		byKey[st.Key] = st
	}
	all := make([]core.ChannelStatus, 0, len(byKey))
	for _, st := range byKey {
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b core.ChannelStatus) int { return cmp.Compare(a.Key, b.Key) })
	return all, nil
}

// active returns the state of every channel with a lane.
func (d *Directory) active(ctx context.Context) ([]core.ChannelStatus, error) {
	var all []core.ChannelStatus
	for _, l := range d.lanes.all() {
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
	for _, st := range all {
		if st.Key == key {
			return st, nil
		}
	}
	return core.ChannelStatus{}, fmt.Errorf("channel %q: %w", key, core.ErrNotFound)
}

// Overview returns the state of the active channels. Unlike Channels, Overview does not read
// the ledger.
func (d *Directory) Overview(ctx context.Context) (core.Overview, error) {
	o := core.Overview{Limit: d.pool.Limit(), Active: []core.ChannelStatus{}}
	idle := d.sessions.All()
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
	if at := d.stats.answeredAt.Load(); at != nil {
		o.Answered = *at
	}
	slices.SortFunc(o.Active, func(a, b core.ChannelStatus) int { return cmp.Compare(a.Key, b.Key) })
	return o, nil
}

// Present returns the present state of one channel, without Messages and LastAt. Unlike
// Channel, Present does not read the ledger, and reports an unknown channel as idle.
func (d *Directory) Present(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error) {
	st := core.ChannelStatus{Key: key, State: core.StateIdle}
	if l, ok := d.lanes.find(key); ok {
		now, err := ask(ctx, l.channel, l.present)
		if err == nil {
			st = now
		} else if !errors.Is(err, errRetired) {
			return core.ChannelStatus{}, err
		}
	}
	if st.SessionID == "" {
		st.SessionID, _ = d.sessions.Get(key)
	}
	return st, nil
}

// Usage returns the cost of a channel's turns, in total and for the present calendar day.
func (d *Directory) Usage(ctx context.Context, key core.ChannelKey) (core.Usage, error) {
	now := d.now()
	year, month, day := now.Date()
	return d.ledger.Usage(ctx, key, time.Date(year, month, day, 0, 0, 0, 0, now.Location()))
}

// Spending returns the amount spent today, as reported by the agents.
func (d *Directory) Spending() core.Spending {
	now := d.now()
	return core.Spending{Day: core.Day(now), Spent: d.budget.On(core.Day(now)), Limit: d.budget.Limit}
}
