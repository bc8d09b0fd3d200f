package main

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// startUp measures the time from exec to the first good answer.
func startUp(ctx context.Context, l *lab, t target) ([]figure, error) {
	var times []time.Duration
	for range l.plan.starts {
		s, err := l.start(ctx, t, instant)
		if err != nil {
			return nil, err
		}
		times = append(times, s.ready)
		if err := s.stop(); err != nil {
			return nil, err
		}
	}
	return []figure{
		{id: "start.p50", name: "start to ready, median", unit: "ms", value: milliseconds(median(times))},
		{id: "start.max", name: "start to ready, worst of " + strconv.Itoa(len(times)), unit: "ms", value: milliseconds(quantile(times, 1))},
	}, nil
}

// warmLatency measures one client on one warm channel and connection.
func warmLatency(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	bare, err := l.bareTime(instant, "hello", l.plan.bareMessages)
	if err != nil {
		return nil, err
	}
	s, err := l.start(ctx, t, instant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	talkers, err := s.crowd("warm", 0, 1, 1)
	if err != nil {
		return nil, err
	}
	hangUp(talkers)
	requests := [][]byte{talkers[0].request}
	if _, _, err := drive(ctx, s.addr, requests, l.plan.warm/5); err != nil {
		return nil, err
	}
	times, _, err := drive(ctx, s.addr, requests, l.plan.warm)
	if err != nil {
		return nil, err
	}
	return []figure{
		{id: "warm.bare", name: "the fake claude alone, warm, p50", unit: "ms", value: milliseconds(bare)},
		{id: "warm.p50", name: "added latency, warm, p50", unit: "ms", value: milliseconds(median(times) - bare)},
		{id: "warm.p99", name: "added latency, warm, p99", unit: "ms", value: milliseconds(quantile(times, 0.99) - bare)},
	}, nil
}

// coldChannels measures first messages, each on a new channel, one after the
// other.
func coldChannels(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	s, err := l.start(ctx, t, instant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	var bares, times []time.Duration
	for n := range l.plan.coldChannels {
		alone, err := l.bareStart() // in turn, so that a busy moment hits both
		if err != nil {
			return nil, err
		}
		c, err := s.talk("cold", n)
		if err != nil {
			return nil, err
		}
		err = errors.Join(c.once(), context.Cause(ctx), c.conn.Close())
		if err != nil {
			return nil, err
		}
		bares, times = append(bares, alone), append(times, c.times...)
	}
	bare := median(bares)
	count := strconv.Itoa(len(times))
	return []figure{
		{id: "cold.bare", name: "the fake claude alone, start to first result", unit: "ms", value: milliseconds(bare)},
		{id: "cold.p50", name: "cold channel, added, median", unit: "ms", value: milliseconds(median(times) - bare)},
		{id: "cold.p99", name: "cold channel, added, p99", unit: "ms", value: milliseconds(quantile(times, 0.99) - bare)},
		{id: "cold.max", name: "cold channel, added, worst of " + count, unit: "ms", value: milliseconds(quantile(times, 1) - bare)},
	}, nil
}

// channelBurst measures many first messages at once.
func channelBurst(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	s, err := l.start(ctx, t, instant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	began := time.Now()
	talkers, err := s.crowd("burst", 0, l.plan.burst, l.plan.burst)
	took := time.Since(began)
	hangUp(talkers)
	return []figure{{
		id: "burst.wall", name: strconv.Itoa(l.plan.burst) + " channels opened at once, all answered",
		unit: "ms", value: milliseconds(took),
	}}, err
}
