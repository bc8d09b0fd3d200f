package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// A measurement takes some figures of one target.
type measurement func(context.Context, *lab, target) ([]figure, error)

// A scenario is a measurement with a name, which several may share.
type scenario struct {
	name string
	run  measurement
	// inRounds says that the targets take turns several times, and each figure is
	// the median: a machine that is shared gets faster and slower by the minute.
	inRounds bool
}

func scenarios() []scenario {
	return []scenario{
		{name: "start", run: startUp},
		{name: "warm", run: served(instant, warmLatency), inRounds: true},
		{name: "cold", run: served(instant, coldChannels)},
		{name: "burst", run: served(instant, channelBurst)},
		{name: "load", run: served(instant, throughput), inRounds: true},
		{name: "turns", run: served(instant, realisticTurns), inRounds: true},
		{name: "memory", run: served(instant, memory)},
		{name: "events", run: served(scripted, eventTurn)},
		{name: "sizes", run: served(scripted, bigMessages)},
		{name: "restart", run: onlyOurs(served(instant, restarts))},
		{name: "restart", run: onlyOurs(served(scripted, watchedRestarts))},
		{name: "recovery", run: onlyOurs(served(instant, recovery))},
		{name: "reclaim", run: reclaimed(reclaim)},
		{name: "known", run: reclaimed(knownChannels)},
		{name: "tools", run: onlyOurs(toolRequests)},
		{name: "bags", run: onlyOurs(bagRequests)},
		{name: "mounts", run: onlyOurs(served(instant, mountRequests))},
		{name: "observe", run: onlyOurs(observed)},
		{name: "toolhost", run: onlyOurs(served(instant, toolHost))},
		{name: "chats", run: onlyOurs(withBot(instant, chats))},
		{name: "chatcalls", run: onlyOurs(withBot(scripted, chatCalls))},
		{name: "chatmemory", run: onlyOurs(withBot(scripted, chatMemory))},
	}
}

// names returns the names of all scenarios.
func names() (all []string) {
	for _, s := range scenarios() {
		all = append(all, s.name)
	}
	return slices.Compact(all)
}

// served measures a server that runs meanwhile.
func served(m mode, f func(context.Context, *server) ([]figure, error)) measurement {
	return func(ctx context.Context, l *lab, t target) (figures []figure, err error) {
		s, err := l.start(ctx, t, m)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.stop()) }()
		return f(ctx, s)
	}
}

// errCannotSee is why a scenario has no figures of a server: it cannot do what is
// measured, or the system does not show it.
var errCannotSee = errors.New("it cannot be seen")

// onlyOurs is a measurement of what no baseline can do.
func onlyOurs(f measurement) measurement {
	return func(ctx context.Context, l *lab, t target) ([]figure, error) {
		if t.baseline {
			return nil, errCannotSee
		}
		return f(ctx, l, t)
	}
}

// reclaimed measures a server that ends unused sessions soon. Only ours can do that, and
// only Linux shows what is left.
func reclaimed(f func(context.Context, *server) ([]figure, error)) measurement {
	return onlyOurs(func(ctx context.Context, l *lab, t target) ([]figure, error) {
		if runtime.GOOS != "linux" {
			return nil, errCannotSee
		}
		return served(instant, f)(ctx, l, t.with("BARECLAW_IDLE_TIMEOUT="+l.plan.idle.String()))
	})
}

// A target is a kind of server to measure.
type target struct {
	name     string
	baseline bool
	command  []string // starts it
	claude   string   // what it finds as claude
	settings []string // NAME=value for its environment
	health   bool     // it is ready when GET /health says 200, else when it answers at all
}

// with returns the target with further settings.
func (t target) with(settings ...string) target {
	t.settings = slices.Concat(t.settings, settings)
	return t
}

// A lab is what all scenarios of one run share.
type lab struct {
	plan   plan
	dir    string // removed at the end
	claude string // the fake
	log    io.Writer
	count  int // servers started so far
}

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
	tools        int           // that are offered
	manyTools    int           // that are offered where there are many
	toolRequests int           // of each kind
	toolRestarts int           // of the tool host
	chats        int           // of Telegram
	longTurn     time.Duration // in a chat
	chatMessages int           // of all chats together
	patience     time.Duration // with what a stopped daemon leaves behind

	observedRequests int   // of one client to an observed app, each way
	observedRounds   int   // of load
	observedCrowd    int64 // requests after which an observer's size is read
}

func fullPlan() plan {
	return plan{
		rounds: 7, starts: 20, warm: time.Second, bareMessages: 1500, coldChannels: 60, burst: 50, load: 2 * time.Second, loads: []int{1, 10, 100},
		crowds: []int{1, 50, 200}, idle: time.Second, known: 1000, chats: 100, longTurn: time.Minute, chatMessages: 10_000, eventTurns: 9,
		sizeRounds: 5, sizes: []int{1, 10}, restarts: 20, syncs: 1000, tools: 150, manyTools: 1000, toolRequests: 300, toolRestarts: 20, patience: 3 * time.Second,
		observedRequests: 5000, observedRounds: 5, observedCrowd: 1_000_000,
	}
}

func quickPlan() plan {
	p := fullPlan()
	p.rounds, p.starts, p.bareMessages, p.coldChannels, p.load, p.known = 1, 5, 1000, 20, 1500*time.Millisecond, 200
	p.chats, p.longTurn, p.chatMessages, p.eventTurns, p.sizeRounds, p.restarts, p.syncs, p.toolRequests, p.toolRestarts = 20, 5*time.Second, 400, 3, 2, 4, 200, 50, 5
	p.observedRequests, p.observedRounds, p.observedCrowd = 1000, 1, 20_000
	return p
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
	if r.syncs, err = syncTimes(l.dir, l.plan.syncs); err != nil {
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
	return r, nil
}

// targets builds what is measured: the baseline, if any, then ours.
func (l *lab) targets(ctx context.Context, o options) ([]target, error) {
	program := o.program
	l.claude = filepath.Join(l.dir, "bin", "claude")
	err := build(ctx, l.claude, "bareclaw/internal/testkit/fakeclaude")
	if program == "" && err == nil {
		program = filepath.Join(l.dir, "bin", "bareclaw")
		err = build(ctx, program, "bareclaw")
	}
	targets := []target{{name: "bareclaw", command: []string{program}, claude: l.claude, health: true}}
	if o.baselineCmd != "" {
		base := target{name: "baseline", baseline: true, claude: l.claude, command: []string{"/bin/sh", "-c", "exec " + o.baselineCmd}}
		if o.baselineClaude != "" {
			base.claude = o.baselineClaude
		}
		targets = append([]target{base}, targets...)
	}
	return targets, err
}

// build compiles a package of this module, as `make build` does.
func build(ctx context.Context, program, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	return nil
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
