package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// settle is how long a daemon is left alone before its size is read.
const settle = 500 * time.Millisecond

// memory reads the size of daemon and hosts, idle and after some channels have
// been opened; the channels stay.
func memory(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	s, err := l.start(ctx, t, instant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	time.Sleep(settle)
	if figures, err = s.daemonSize(0); err != nil {
		return nil, err
	}
	open := 0
	for _, n := range l.plan.crowds {
		talkers, err := s.crowd("memory", open, n-open, 10)
		if err != nil {
			return nil, err
		}
		hangUp(talkers)
		open = n
		time.Sleep(settle)
		daemon, err := s.daemonSize(n)
		if err != nil {
			return nil, err
		}
		hosts, err := s.hostSize(n)
		if err != nil {
			return nil, err
		}
		figures = append(append(figures, daemon...), hosts...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return figures, nil
}

// daemonSize reads the daemon's size after n channels.
func (s *server) daemonSize(n int) ([]figure, error) {
	rss, pss, err := sizeOf(s.daemon())
	when := "idle"
	if n > 0 {
		when = "after " + strconv.Itoa(n)
	}
	if err != nil {
		return nil, err
	}
	id := strconv.Itoa(n)
	figures := []figure{
		{id: "memory.daemon." + id, name: "daemon RSS, " + when, unit: "MiB", value: mebibytes(rss)},
		{id: "memory.daemonpss." + id, name: "daemon PSS, " + when, unit: "MiB", value: mebibytes(pss)},
	}
	if s.daemon() == s.cmd.Process.Pid {
		return figures, nil
	}
	_, pss, err = sizeOf(s.cmd.Process.Pid)
	return append(figures, figure{id: "memory.supervisorpss." + id, name: "supervisor PSS, " + when, unit: "MiB", value: mebibytes(pss)}), err
}

// hostSize reads the mean size of n channels' hosts.
func (s *server) hostSize(n int) ([]figure, error) {
	var all, shared []float64
	for _, pid := range s.hosts() {
		rss, pss, err := sizeOf(pid)
		if err != nil {
			return nil, fmt.Errorf("size of a host: %w", err)
		}
		all, shared = append(all, rss), append(shared, pss)
	}
	if len(all) != n {
		return nil, fmt.Errorf("%d channels have %d hosts", n, len(all))
	}
	among := "alone"
	if n > 1 {
		among = "among " + strconv.Itoa(n)
	}
	id := strconv.Itoa(n)
	return []figure{
		{id: "memory.host." + id, name: "host RSS, " + among, unit: "MiB", value: mebibytes(mean(all))},
		{id: "memory.hostpss." + id, name: "host PSS, " + among, unit: "MiB", value: mebibytes(mean(shared))},
	}, nil
}
