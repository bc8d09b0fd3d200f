package main

import (
	"context"
	"errors"
	"fmt"
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
		ms("start.p50", "start to ready, median", median(times)),
		ms("start.max", "start to ready, worst of "+strconv.Itoa(len(times)), quantile(times, 1)),
	}, nil
}

// warmLatency measures one client on one warm channel and connection.
func warmLatency(ctx context.Context, s *server) ([]figure, error) {
	bare, err := s.lab.bareTime(instant, helloText, s.lab.plan.bareMessages)
	if err != nil {
		return nil, err
	}
	times, _, err := s.loop(ctx, "warm", helloText, 1, s.lab.plan.warm, s.lab.plan.warm/5)
	return []figure{
		ms("warm.bare", "the fake claude alone, warm, p50", bare),
		ms("warm.p50", "added latency, warm, p50", median(times)-bare),
		ms("warm.p99", "added latency, warm, p99", quantile(times, 0.99)-bare),
	}, err
}

// coldChannels measures first messages, each on a new channel, one after the other.
func coldChannels(ctx context.Context, s *server) ([]figure, error) {
	var bares, times []time.Duration
	for n := range s.lab.plan.coldChannels {
		alone, err := s.lab.bareStart() // in turn, so that a busy moment hits both
		if err != nil {
			return nil, err
		}
		took, err := s.askAnew(s.message("cold", n, helloText), okText)
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return nil, err
		}
		bares, times = append(bares, alone), append(times, took)
	}
	bare := median(bares)
	return []figure{
		ms("cold.bare", "the fake claude alone, start to first result", bare),
		ms("cold.p50", "cold channel, added, median", median(times)-bare),
		ms("cold.p99", "cold channel, added, p99", quantile(times, 0.99)-bare),
		ms("cold.max", "cold channel, added, worst of "+strconv.Itoa(len(times)), quantile(times, 1)-bare),
	}, nil
}

// channelBurst measures many first messages at once.
func channelBurst(ctx context.Context, s *server) ([]figure, error) {
	n, began := s.lab.plan.burst, time.Now()
	_, err := s.crowd(ctx, "burst", helloText, 0, n, n)
	return []figure{ms("burst.wall", strconv.Itoa(n)+" channels opened at once, all answered", time.Since(began))}, err
}

// throughput measures closed loops: on each channel one client that sends its
// next message when it has the answer to the last.
func throughput(ctx context.Context, s *server) ([]figure, error) {
	return s.closedLoops(ctx, "load", "under load", helloText)
}

// realisticTurns measures the same with turns of 30 events: init, the replayed message,
// 20 pieces of text, a tool, lifecycle and result.
func realisticTurns(ctx context.Context, s *server) ([]figure, error) {
	return s.closedLoops(ctx, "turns", "with turns of 30 events", "realistic")
}

// closedLoops measures a series of closed loops.
func (s *server) closedLoops(ctx context.Context, series, what, text string) (figures []figure, err error) {
	suffix := "" // tells the throughput of the series from that of others
	if text != helloText {
		suffix = " " + what
	}
	for _, n := range s.lab.plan.loads {
		id, channels := series+"."+strconv.Itoa(n), strconv.Itoa(n)+" channels"
		if n == 1 {
			channels = "1 channel"
		}
		d := s.lab.plan.load
		times, cpu, err := s.loop(ctx, id, text, n, d, d/10)
		if err != nil {
			return nil, fmt.Errorf("%d channels: %w", n, err)
		}
		count := float64(len(times))
		figures = append(figures,
			figure{id: id + ".rate", name: "throughput, " + channels + suffix, unit: "/s", value: count / cpu.took.Seconds()},
			ms(id+".p50", channels+" "+what+", p50", median(times)),
			ms(id+".p99", channels+" "+what+", p99", quantile(times, 0.99)))
		if cpu.daemon > 0 { // else it cannot be seen
			figures = append(figures,
				figure{id: id + ".cpu.daemon", name: channels + " " + what + ", CPU of the daemon a message", unit: "µs", value: float64(cpu.daemon.Microseconds()) / count},
				figure{id: id + ".cpu.hosts", name: channels + " " + what + ", CPU of the host a message", unit: "µs", value: float64(cpu.hosts.Microseconds()) / count},
				figure{id: id + ".cpu", name: channels + " " + what + ", CPU of both a message", unit: "µs", value: float64((cpu.daemon + cpu.hosts).Microseconds()) / count})
		}
	}
	return figures, nil
}

// spent is how long a loop, and the threads of daemon and hosts meanwhile, have run.
type spent struct{ took, daemon, hosts time.Duration }

// loop drives n channels for some time, after a time that does not count.
func (s *server) loop(ctx context.Context, scenario, text string, n int, d, before time.Duration) ([]time.Duration, spent, error) {
	requests, err := s.crowd(ctx, scenario, text, 0, n, 10)
	if err != nil {
		return nil, spent{}, err
	}
	if _, _, err := drive(ctx, s.addr, requests, before); err != nil {
		return nil, spent{}, err
	}
	daemon, hosts := s.cpu()
	times, took, err := drive(ctx, s.addr, requests, d)
	daemonNow, hostsNow := s.cpu()
	return times, spent{took, daemonNow - daemon, hostsNow - hosts}, err
}
