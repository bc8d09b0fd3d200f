package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A scenario takes some figures of one target. It starts what servers it needs
// and stops them.
type scenario struct {
	name string
	run  func(context.Context, *lab, target) ([]figure, error)
	// inRounds says that the targets take turns several times, and each figure is
	// the median: a machine that is shared gets faster and slower by the minute.
	inRounds bool
}

func scenarios() []scenario {
	return []scenario{
		{name: "start", run: startUp},
		{name: "warm", run: warmLatency, inRounds: true},
		{name: "cold", run: coldChannels},
		{name: "burst", run: channelBurst},
		{name: "load", run: throughput, inRounds: true},
		{name: "turns", run: realisticTurns, inRounds: true},
		{name: "memory", run: memory},
		{name: "events", run: eventTurn},
		{name: "sizes", run: bigMessages},
		{name: "restart", run: handOver},
		{name: "recovery", run: recovery},
		{name: "reclaim", run: reclaim},
		{name: "known", run: knownChannels},
		{name: "chats", run: chats},
		{name: "chatcalls", run: chatCalls},
		{name: "chatmemory", run: chatMemory},
	}
}

func names() []string {
	var out []string
	for _, s := range scenarios() {
		out = append(out, s.name)
	}
	return out
}

// A lab is what all scenarios of one run share.
type lab struct {
	plan   plan
	dir    string // removed at the end
	claude string // the fake
	log    io.Writer
	count  int // servers started so far
}

// sweepAfter is how long the processes of a daemon that has stopped may take to
// end by themselves.
const sweepAfter = 3 * time.Second

// A plan says how much is measured.
type plan struct {
	rounds       int // of a scenario that runs in rounds
	starts       int
	warm         time.Duration
	bareMessages int // to the fake claude alone
	coldChannels int
	burst        int
	load         time.Duration // each step of the throughput
	loads        []int         // channels of each step
	crowds       []int         // channels at which memory is read
	idle         time.Duration // after which sessions are reclaimed, where they are
	known        int           // channels with a history and no session
	eventTurns   int
	sizeRounds   int
	sizes        []int // MiB of a big message
	restarts     int
	syncs        int
	chats        int           // of Telegram
	longTurn     time.Duration // in a chat
	chatMessages int           // of all chats together
	patience     time.Duration // with what a stopped daemon leaves behind
}

func fullPlan() plan {
	return plan{rounds: 7, starts: 20, warm: time.Second, bareMessages: 1500, coldChannels: 60, burst: 50, load: 2 * time.Second, loads: []int{1, 10, 100},
		crowds: []int{1, 50, 200}, idle: time.Second, known: 1000, chats: 100, longTurn: time.Minute, chatMessages: 10_000, eventTurns: 9, sizeRounds: 5, sizes: []int{1, 10}, restarts: 20, syncs: 1000, patience: sweepAfter}
}

func quickPlan() plan {
	return plan{rounds: 1, starts: 5, warm: time.Second, bareMessages: 1000, coldChannels: 20, burst: 50, load: 1500 * time.Millisecond, loads: []int{1, 10, 100},
		crowds: []int{1, 50, 200}, idle: time.Second, known: 200, chats: 20, longTurn: 5 * time.Second, chatMessages: 400, eventTurns: 3, sizeRounds: 2, sizes: []int{1, 10}, restarts: 4, syncs: 200, patience: sweepAfter}
}

// measure runs the chosen scenarios over all targets.
func measure(ctx context.Context, o options, p plan, log io.Writer) (r report, err error) {
	l := &lab{plan: p, log: log}
	if l.dir, err = os.MkdirTemp(o.dir, "bareclaw-bench-"); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(l.dir)) }()
	if l.dir, err = filepath.Abs(l.dir); err != nil {
		return r, err
	}
	targets, err := l.targets(ctx, o)
	if err != nil {
		return r, err
	}
	if r.machine, err = describe(l.dir); err != nil {
		return r, err
	}
	if r.disk, err = syncTimes(l.dir, l.plan.syncs); err != nil {
		return r, err
	}
	r.began = time.Now()
	for _, s := range scenarios() {
		if len(o.only) > 0 && !slices.Contains(o.only, s.name) {
			continue
		}
		if err := l.compare(ctx, &r, s, targets); err != nil {
			return r, err
		}
	}
	r.took = time.Since(r.began)
	return r, nil
}

// compare runs one scenario on the targets in turn and adds their figures to the
// report.
func (l *lab) compare(ctx context.Context, r *report, s scenario, targets []target) error {
	rounds := 1
	if s.inRounds {
		rounds = l.plan.rounds
	}
	taken := make([][]figure, len(targets))
	for range rounds {
		for i, t := range targets {
			figures, err := l.take(ctx, s, t)
			if err != nil {
				return err
			}
			taken[i] = append(taken[i], figures...)
		}
	}
	for i, t := range targets {
		r.add(t, medians(taken[i]))
	}
	return nil
}

// take runs one scenario on one target. A figure that cannot be had is not there.
func (l *lab) take(ctx context.Context, s scenario, t target) ([]figure, error) {
	began := time.Now()
	figures, err := s.run(ctx, l, t)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errCannotSee):
		fmt.Fprintf(l.log, "bench: %s of %s: not measured\n", s.name, t.name)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s of %s: %w", s.name, t.name, err)
	}
	fmt.Fprintf(l.log, "bench: %s of %s: %.1f s\n", s.name, t.name, time.Since(began).Seconds())
	return figures, nil
}
