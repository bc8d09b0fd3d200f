package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// bound is how long a check may take unless it says otherwise.
	bound = 15 * time.Second
	// grace is how much longer one is waited for that does not notice its end, as when
	// a file system hangs.
	grace = 2 * time.Second
	// fixBound is how long it may take to mend one thing.
	fixBound = 30 * time.Second
)

// A check looks at one side of the gateway.
type check struct {
	name  string
	bound time.Duration // 0: bound
	run   func(ctx context.Context, l *look) []Finding
}

// checks are all checks in the order in which they are told.
func checks() []check {
	return []check{
		{name: "configuration", run: checkConfiguration},
		{name: "claude", run: checkClaude},
		{name: "login", run: checkLogin},
		{name: "turn", bound: turnBound, run: checkTurn},
		{name: "directories", run: checkDirectories},
		{name: "disk", run: checkDisk},
		{name: "clock", run: checkClock},
		{name: "address", run: checkAddress},
		{name: "gateway", run: checkGateway},
		{name: "sessions", run: checkSessions},
		{name: "ledger", bound: ledgerBound, run: checkLedger},
		{name: "telegram", bound: 2 * bound, run: checkTelegram},
		{name: "service", bound: 2 * bound, run: checkService},
		{name: "exposure", run: checkExposure},
	}
}

// Names lists the checks in the order of their findings.
func Names() []string {
	var names []string
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// Run makes all checks at once, and returns what they found in a fixed order. It
// blocks for as long as the slowest takes, at most about two minutes, or until ctx ends; a
// check that is not done in its time is a finding.
func Run(ctx context.Context, o Options) []Finding {
	l, all := newLook(o), checks()
	found := make([][]Finding, len(all))
	done := make(chan int, len(all))
	for i, c := range all {
		go func() { // ends at the latest a little after the check's bound
			found[i] = c.carryOut(ctx, l)
			done <- i
		}()
	}
	waiting := Names()
	for range all {
		if o.Progress != nil {
			o.Progress(waiting)
		}
		name := all[<-done].name
		waiting = slices.DeleteFunc(slices.Clone(waiting), func(w string) bool { return w == name })
	}
	if o.Progress != nil {
		o.Progress(nil)
	}
	findings := heedTurn(slices.Concat(found...))
	if o.Fix {
		fixAll(ctx, findings)
	}
	return findings
}

// carryOut makes the check. One that cannot be interrupted is left behind: it ends with
// the program.
func (c check) carryOut(parent context.Context, l *look) []Finding {
	limit := c.bound
	if limit == 0 {
		limit = bound
	}
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	result := make(chan []Finding, 1)
	go func() { result <- c.run(ctx, l) }()
	timer := time.NewTimer(limit + grace)
	defer timer.Stop()
	var found []Finding
	select {
	case found = <-result:
	case <-parent.Done():
		timer.Reset(grace) // in which it ends what it has started
		select {
		case <-result:
		case <-timer.C:
		}
		return nil
	case <-timer.C:
		select {
		case found = <-result: // both: it is done
		default:
			found = []Finding{problem("check_hangs", fmt.Sprintf("This check was not done after %v.", limit+grace),
				"Something that it asked does not answer: a file system, a program or the network.", "")}
		}
	}
	for i := range found {
		found[i].clean(c.name)
	}
	return found
}

// fixAll mends what can be mended, one thing after the other.
func fixAll(ctx context.Context, findings []Finding) {
	for i := range findings {
		if !findings[i].Fixable {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, fixBound)
		findings[i].fix(ctx)
		cancel()
	}
}

// Turn has claude answer once, as the check "turn" does, and returns what there is to
// say of that: nothing where there is no claude to ask. It blocks for up to two minutes.
func Turn(ctx context.Context, o Options) []Finding {
	return check{name: "turn", bound: turnBound, run: checkTurn}.carryOut(ctx, newLook(o))
}

// Claude asks a program whether it is Claude Code, as the check "claude" does, and returns
// what there is to say of that. It blocks for some seconds at most.
func Claude(ctx context.Context, o Options, path string) Finding {
	run := func(ctx context.Context, l *look) []Finding { return []Finding{checkVersion(ctx, l, path)} }
	return check{name: "claude", bound: 2 * versionBound, run: run}.carryOut(ctx, newLook(o))[0]
}
