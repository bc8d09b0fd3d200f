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
func memory(ctx context.Context, s *server) ([]figure, error) {
	time.Sleep(settle)
	figures, err := s.daemonSize(0, "idle")
	open := 0
	for _, n := range s.lab.plan.crowds {
		if err != nil {
			return nil, err
		}
		if _, err := s.crowd(ctx, "memory", helloText, open, n-open, 10); err != nil {
			return nil, err
		}
		open = n
		time.Sleep(settle)
		daemon, daemonErr := s.daemonSize(n, "after "+strconv.Itoa(n))
		hosts, hostsErr := s.hostSize(n)
		figures, err = append(append(figures, daemon...), hosts...), errors.Join(daemonErr, hostsErr)
	}
	return figures, err
}

// daemonSize reads the daemon's size after n channels.
func (s *server) daemonSize(n int, when string) ([]figure, error) {
	rss, pss, err := sizeOf(s.daemon())
	if err != nil {
		return nil, err
	}
	own, err := ownSizeOf(s.daemon())
	if err != nil {
		return nil, err
	}
	id := strconv.Itoa(n)
	figures := []figure{
		mib("memory.daemon."+id, "daemon RSS, "+when, rss), mib("memory.daemonpss."+id, "daemon PSS, "+when, pss),
		mib("memory.own."+id, "daemon, its own pages, "+when, own),
	}
	if s.daemon() != s.cmd.Process.Pid {
		_, pss, err = sizeOf(s.cmd.Process.Pid)
		figures = append(figures, mib("memory.supervisorpss."+id, "supervisor PSS, "+when, pss))
	}
	return figures, err
}

// hostSize reads the mean size of n channels' hosts.
func (s *server) hostSize(n int) ([]figure, error) {
	hosts := s.hosts()
	if len(hosts) != n {
		return nil, fmt.Errorf("%d channels have %d hosts", n, len(hosts))
	}
	var all, shared float64
	for _, pid := range hosts {
		rss, pss, err := sizeOf(pid)
		if err != nil {
			return nil, fmt.Errorf("size of a host: %w", err)
		}
		all, shared = all+rss/float64(n), shared+pss/float64(n)
	}
	id, among := strconv.Itoa(n), "alone"
	if n > 1 {
		among = "among " + id
	}
	return []figure{mib("memory.host."+id, "host RSS, "+among, all), mib("memory.hostpss."+id, "host PSS, "+among, shared)}, nil
}

// reclaimWithin is how long sessions that are not used any more may take to end.
const reclaimWithin = 15 * time.Second

// reclaim measures what channels cost whose sessions have been ended, and what the
// next message of one costs, in turn with the first one of a new channel.
func reclaim(ctx context.Context, s *server) ([]figure, error) {
	time.Sleep(settle)
	rss, pss, err := sizeOf(s.daemon())
	if err != nil {
		return nil, err
	}
	n := s.lab.mostChannels()
	left, err := s.useAndForget(ctx, "reclaim", n)
	if err != nil {
		return nil, err
	}
	rssNow, pssNow, err := sizeOf(s.daemon())
	if err != nil {
		return nil, err
	}
	times := map[string][]time.Duration{}
	for i := range min(s.lab.plan.coldChannels, n) {
		for _, scenario := range []string{"reclaim", "anew"} {
			took, err := s.askAnew(s.message(scenario, i, helloText), okText)
			if err = errors.Join(err, context.Cause(ctx)); err != nil {
				return nil, err
			}
			times[scenario] = append(times[scenario], took)
		}
	}
	of := strconv.Itoa(n) + " channels that are no longer used"
	return []figure{
		{id: "reclaim.processes", name: "processes of " + of, value: float64(left)},
		mib("reclaim.rss", "daemon RSS, growth by "+of, rssNow-rss),
		mib("reclaim.pss", "daemon PSS, growth by "+of, pssNow-pss),
		ms("reclaim.again", "next message of such a channel, median", median(times["reclaim"])),
		ms("reclaim.cold", "first message of a new channel, in turn with it, median", median(times["anew"])),
	}, nil
}

// mostChannels is the largest crowd of the plan.
func (l *lab) mostChannels() int { return l.plan.crowds[len(l.plan.crowds)-1] }

// knownChannels measures a start with many channels that have a history and no
// session.
func knownChannels(ctx context.Context, s *server) ([]figure, error) {
	n := s.lab.plan.known
	left, err := s.useAndForget(ctx, "known", n)
	var after float64
	if err == nil {
		after, err = ownSizeOf(s.daemon())
	}
	if err == nil {
		err = s.startAnew(ctx)
	}
	if err != nil {
		return nil, err
	}
	time.Sleep(settle)
	rss, pss, err := sizeOf(s.daemon())
	own, ownErr := ownSizeOf(s.daemon())
	known := strconv.Itoa(n) + " known channels"
	return []figure{
		{id: "known.processes", name: "processes of " + known, value: float64(left + len(s.others()))},
		ms("known.ready", "start to ready, with "+known, s.ready),
		mib("known.rss", "daemon RSS, started with "+known, rss),
		mib("known.pss", "daemon PSS, started with "+known, pss),
		mib("known.after", "daemon, its own pages, after "+strconv.Itoa(n)+" channels that are no longer used", after),
		mib("known.own", "daemon, its own pages, started with "+known, own),
	}, errors.Join(err, ownErr)
}

// useAndForget sends a message on each of n channels, waits until their sessions
// should have ended and the daemon is at rest, and returns how many processes are
// left besides it.
func (s *server) useAndForget(ctx context.Context, scenario string, n int) (left int, err error) {
	if _, err := s.crowd(ctx, scenario, helloText, 0, n, 10); err != nil {
		return 0, err
	}
	gone := func() bool { return len(s.others()) == 0 }
	if err := await(ctx, reclaimWithin, 100*time.Millisecond, gone); errors.Is(err, errTooLong) {
		fmt.Fprintf(s.lab.log, "bench: %d processes are left %s after the last message\n", len(s.others()), reclaimWithin)
		return len(s.others()), nil
	} else if err != nil {
		return 0, err
	}
	time.Sleep(settle)
	return len(s.others()), nil
}

var errTooLong = errors.New("it takes too long")

// await returns once the condition holds, which is looked at again and again.
func await(ctx context.Context, within, pause time.Duration, cond func() bool) error {
	for end := time.Now().Add(within); !cond(); time.Sleep(pause) {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(end):
			return errTooLong
		}
	}
	return nil
}
