package sqlite_test

import (
	"testing"
	"time"

	"bareclaw/core"
)

func TestUsageOfAChannel(t *testing.T) {
	t.Parallel()
	l := open(t)
	today := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	turn := func(channel core.ChannelKey, at time.Time, costs ...float64) {
		tn := &core.Turn{ID: core.TurnID(newID()), Channel: channel, BegunAt: at, EndedAt: at}
		begin, end := core.Change{Begin: []*core.Turn{tn}}, core.Change{End: []*core.Turn{tn}}
		for _, cost := range costs {
			m := &core.Message{ID: core.MessageID(newID()), Channel: channel, ReceivedAt: at}
			tn.Members = append(tn.Members, m.ID)
			begin.Accept = append(begin.Accept, m)
			end.Settle = append(end.Settle, core.Settlement{ID: m.ID, EndedAt: at, Reply: core.Reply{State: core.Answered, CostUSD: cost}})
		}
		mustWrite(t, l, begin)
		mustWrite(t, l, end)
	}
	turn("a", today.Add(-time.Hour), 1)
	turn("a", today.Add(time.Hour), 0, 0.5)
	turn("b", today.Add(time.Hour), 4)
	mustWrite(t, l, core.Change{Accept: []*core.Message{{ID: core.MessageID(newID()), Channel: "a", ReceivedAt: today}}})
	for channel, want := range map[core.ChannelKey]core.Usage{
		"a": {Turns: 2, TurnsToday: 1, Spent: 1.5, SpentToday: 0.5},
		"b": {Turns: 1, TurnsToday: 1, Spent: 4, SpentToday: 4},
		"c": {},
	} {
		if got, err := l.Usage(t.Context(), channel, today); err != nil || got != want {
			t.Errorf("usage of %s is %+v, %v, want %+v", channel, got, err, want)
		}
	}
}
