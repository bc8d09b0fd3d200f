package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// reclaimed is a target that ends unused sessions soon. Only ours can do that, and
// only Linux shows what is left.
func (l *lab) reclaimed(t target) (target, error) {
	if t.baseline || runtime.GOOS != "linux" {
		return t, errCannotSee
	}
	t.settings = append(slices.Clone(t.settings), "BARECLAW_IDLE_TIMEOUT="+l.plan.idle.String())
	return t, nil
}

// reclaim measures what channels cost whose sessions have been ended, and what the
// next message of one costs, in turn with the first one of a new channel.
func reclaim(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	if t, err = l.reclaimed(t); err != nil {
		return nil, err
	}
	s, err := l.start(ctx, t, instant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	time.Sleep(settle)
	rss, pss, err := sizeOf(s.daemon())
	if err != nil {
		return nil, err
	}
	n := l.plan.crowds[len(l.plan.crowds)-1]
	left, err := s.useAndForget(ctx, "reclaim", n)
	if err != nil {
		return nil, err
	}
	rssNow, pssNow, err := sizeOf(s.daemon())
	if err != nil {
		return nil, err
	}
	var again, cold []time.Duration
	for i := range min(l.plan.coldChannels, n) {
		for scenario, times := range map[string]*[]time.Duration{"reclaim": &again, "anew": &cold} {
			c, err := s.talk(scenario, i)
			if err != nil {
				return nil, err
			}
			if err := errors.Join(c.once(), context.Cause(ctx), c.conn.Close()); err != nil {
				return nil, err
			}
			*times = append(*times, c.times...)
		}
	}
	of := strconv.Itoa(n) + " channels that are no longer used"
	return []figure{
		{id: "reclaim.processes", name: "processes of " + of, value: float64(left)},
		{id: "reclaim.rss", name: "daemon RSS, growth by " + of, unit: "MiB", value: mebibytes(rssNow - rss)},
		{id: "reclaim.pss", name: "daemon PSS, growth by " + of, unit: "MiB", value: mebibytes(pssNow - pss)},
		{id: "reclaim.again", name: "next message of such a channel, median", unit: "ms", value: milliseconds(median(again))},
		{id: "reclaim.cold", name: "first message of a new channel, in turn with it, median", unit: "ms", value: milliseconds(median(cold))},
	}, nil
}

// knownChannels measures a start with many channels that have a history and no
// session.
func knownChannels(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	if t, err = l.reclaimed(t); err != nil {
		return nil, err
	}
	s, err := l.start(ctx, t, instant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	n := l.plan.known
	left, err := s.useAndForget(ctx, "known", n)
	if err != nil {
		return nil, err
	}
	if err := s.startAnew(ctx); err != nil {
		return nil, err
	}
	time.Sleep(settle)
	rss, pss, err := sizeOf(s.daemon())
	if err != nil {
		return nil, err
	}
	left += len(s.others())
	known := strconv.Itoa(n) + " known channels"
	return []figure{
		{id: "known.processes", name: "processes of " + known, value: float64(left)},
		{id: "known.ready", name: "start to ready, with " + known, unit: "ms", value: milliseconds(s.ready)},
		{id: "known.rss", name: "daemon RSS, started with " + known, unit: "MiB", value: mebibytes(rss)},
		{id: "known.pss", name: "daemon PSS, started with " + known, unit: "MiB", value: mebibytes(pss)},
	}, nil
}

// useAndForget sends a message on each of n channels, waits until their sessions
// should have ended and the daemon is at rest, and returns how many processes are
// left besides it.
func (s *server) useAndForget(ctx context.Context, scenario string, n int) (left int, err error) {
	talkers, err := s.crowd(scenario, 0, n, 10)
	if err != nil {
		return 0, err
	}
	hangUp(talkers)
	for deadline := time.Now().Add(reclaimWithin); ; {
		if left = len(s.others()); left == 0 {
			time.Sleep(settle)
			return len(s.others()), nil
		}
		if time.Now().After(deadline) {
			fmt.Fprintf(s.lab.log, "bench: %d processes are left %s after the last message\n", left, reclaimWithin)
			return left, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// reclaimWithin is how long sessions that are not used any more may take to end.
const reclaimWithin = 15 * time.Second
