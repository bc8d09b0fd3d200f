package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// throughput measures closed loops: on each channel one client that sends its
// next message when it has the answer to the last.
func throughput(ctx context.Context, l *lab, t target) ([]figure, error) {
	return l.closedLoops(ctx, t, loops{id: "load", what: "under load", text: helloText})
}

// realisticTurns measures the same with turns of 30 events: init, the replayed message,
// 20 pieces of text, a tool, lifecycle and result.
func realisticTurns(ctx context.Context, l *lab, t target) ([]figure, error) {
	return l.closedLoops(ctx, t, loops{id: "turns", what: "with turns of 30 events", text: "realistic"})
}

// loops describes one series of closed loops.
type loops struct{ id, what, text string }

// suffix tells the throughput of the series from that of others.
func (o loops) suffix() string {
	if o.text == helloText {
		return ""
	}
	return " " + o.what
}

func (l *lab) closedLoops(ctx context.Context, t target, o loops) (figures []figure, err error) {
	s, err := l.start(ctx, t, instant)
	if err != nil {
		return nil, err
	}
	s.text = o.text
	defer func() { err = errors.Join(err, s.stop()) }()
	for _, n := range l.plan.loads {
		step, err := s.loop(ctx, o, n, l.plan.load)
		if err != nil {
			return nil, fmt.Errorf("%d channels: %w", n, err)
		}
		figures = append(figures, step...)
	}
	return figures, nil
}

func (s *server) loop(ctx context.Context, o loops, n int, d time.Duration) ([]figure, error) {
	talkers, err := s.crowd(o.id+strconv.Itoa(n), 0, n, 10)
	if err != nil {
		return nil, err
	}
	hangUp(talkers)
	requests := make([][]byte, n)
	for i, t := range talkers {
		requests[i] = t.request
	}
	if _, _, err := drive(ctx, s.addr, requests, d/10); err != nil {
		return nil, err
	}
	daemon, hosts := s.cpu()
	times, took, err := drive(ctx, s.addr, requests, d)
	if err != nil {
		return nil, err
	}
	id, channels := o.id+"."+strconv.Itoa(n), strconv.Itoa(n)+" channels"
	if n == 1 {
		channels = "1 channel"
	}
	count := float64(len(times))
	figures := []figure{
		{id: id + ".rate", name: "throughput, " + channels + o.suffix(), unit: "/s", value: count / took.Seconds()},
		{id: id + ".p50", name: channels + " " + o.what + ", p50", unit: "ms", value: milliseconds(median(times))},
		{id: id + ".p99", name: channels + " " + o.what + ", p99", unit: "ms", value: milliseconds(quantile(times, 0.99))},
	}
	daemonNow, hostsNow := s.cpu()
	if daemonNow == 0 {
		return figures, nil // it cannot be seen
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / count }
	return append(figures,
		figure{id: id + ".cpu.daemon", name: channels + " " + o.what + ", CPU of the daemon a message", unit: "µs", value: each(daemonNow - daemon)},
		figure{id: id + ".cpu.hosts", name: channels + " " + o.what + ", CPU of the host a message", unit: "µs", value: each(hostsNow - hosts)},
	), nil
}

// cpu returns the time that the daemon, and all hosts together, have run.
func (s *server) cpu() (daemon, hosts time.Duration) {
	if s.cmd == nil {
		return 0, 0
	}
	for _, pid := range s.hosts() {
		hosts += cpuOf(pid)
	}
	return cpuOf(s.daemon()), hosts
}
