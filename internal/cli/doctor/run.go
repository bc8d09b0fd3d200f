package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/kinds"
	"bareclaw/internal/term"
)

const (
	// bound is the default time limit of a check.
	bound = 15 * time.Second
	// grace is the extra time for a check that ignores its time limit, for example on a
	// hanging file system.
	grace = 2 * time.Second
	// fixBound is the time limit of a fix.
	fixBound = 30 * time.Second
)

// A check examines one aspect of the gateway.
type check struct {
	name  string
	bound time.Duration // 0: bound
	run   func(ctx context.Context, r *report)
}

func checks() []check {
	all := []check{
		{name: "configuration", run: checkConfiguration},
		{name: "claude", run: checkClaude},
		{name: "login", run: checkLogin},
		{name: "turn", bound: turnBound, run: checkTurn},
		{name: "project", run: checkProject},
		{name: "directories", run: checkDirectories},
		{name: "disk", run: checkDisk},
		{name: "clock", run: checkClock},
		{name: "address", run: checkAddress},
		{name: "gateway", run: checkGateway},
		{name: "sessions", run: checkSessions},
		{name: "tools", run: checkTools},
		{name: "mounts", run: checkMounts},
		{name: "observers", run: checkObservers},
		{name: "ledger", bound: ledgerBound, run: checkLedger},
	}
	for _, k := range kinds.All() {
		all = append(all, check{name: k.Name, bound: 2 * bound, run: checkAdapter(k)})
	}
	return append(all,
		check{name: "service", bound: 2 * bound, run: checkService},
		check{name: "exposure", run: checkExposure},
	)
}

// Names lists the checks in the order of their findings.
func Names() []string {
	var names []string
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// Run runs all checks concurrently and returns the findings in a fixed order. Run blocks
// for the slowest check, at most about two minutes, or until ctx ends. A check that
// exceeds its limit becomes a finding.
func Run(ctx context.Context, o Options) []Finding {
	l, all := newLook(o), checks()
	found := make([][]Finding, len(all))
	done := make(chan int, len(all))
	waiting := Names()
	for i, c := range all {
		go func() { // ends at the latest a little after the check's bound
			found[i] = c.carryOut(ctx, l)
			done <- i
		}()
	}
	for n := range all {
		if o.Progress != nil {
			o.Progress(fmt.Sprintf("%d of %d done, looking at: %s", n, len(all), strings.Join(waiting, ", ")))
		}
		name := all[<-done].name
		waiting = slices.DeleteFunc(waiting, func(w string) bool { return w == name })
	}
	findings := slices.Concat(found...)
	if o.Fix {
		fixAll(ctx, findings)
	}
	return findings
}

// carryOut runs the check within its limit. carryOut abandons a check that cannot be
// interrupted; the check then ends with the program.
func (c check) carryOut(parent context.Context, l *look) []Finding {
	limit := cmp.Or(c.bound, bound)
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	result := make(chan *report, 1)
	go func() {
		r := &report{look: l}
		c.run(ctx, r)
		result <- r
	}()
	late := time.NewTimer(limit + grace)
	defer late.Stop()
	var r *report
	select {
	case r = <-result:
	case <-parent.Done():
		late.Reset(grace) // time for the check to end its own processes
		select {
		case <-result:
		case <-late.C:
		}
		return nil
	case <-late.C:
		r = &report{}
		r.problem("check_hangs", fmt.Sprintf("This check was not done after %v.", limit+grace),
			"Something that it asked does not answer: a file system, a program or the network.", "")
	}
	for i, f := range r.found {
		r.found[i] = f.of(c.name)
	}
	return r.found
}

// of returns the finding as one of a check, with texts that are safe for a terminal.
func (f Finding) of(check string) Finding {
	f.Check, f.What, f.Why, f.Command = check, term.SafeLine(f.What), term.SafeLine(f.Why), term.SafeLine(f.Command)
	return f
}

func fixAll(ctx context.Context, findings []Finding) {
	for i := range findings {
		f := &findings[i]
		if !f.Fixable {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, fixBound)
		if err := f.mend(ctx); err != nil {
			f.Failed = term.SafeLine(err.Error())
		}
		f.Fixed = f.Failed == ""
		cancel()
	}
}

// Turn runs the check "turn", one answer of claude, and returns its finding, the zero value
// without a claude. Turn blocks for up to two minutes.
func Turn(ctx context.Context, o Options) Finding {
	return check{"turn", turnBound, checkTurn}.first(ctx, o)
}

// Claude checks whether the program at path is Claude Code, as the check "claude" does.
// Claude blocks for some seconds at most.
func Claude(ctx context.Context, o Options, path string) Finding {
	return check{"claude", 2 * versionBound, func(ctx context.Context, r *report) { checkVersion(ctx, r, path) }}.first(ctx, o)
}

// first runs the check alone, and returns the first finding; the zero value if ctx has ended.
func (c check) first(ctx context.Context, o Options) Finding {
	return append(c.carryOut(ctx, newLook(o)), Finding{})[0]
}
