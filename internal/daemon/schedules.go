package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"
	_ "time/tzdata" // zones are also known where the system has none, as in a bare container

	"golang.org/x/sync/semaphore"

	"bareclaw/adapters/telegram"
	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/internal/precheck"
	"bareclaw/sessionhost/claude"
)

// jobs is the scheduler at work.
type jobs struct {
	*schedule.Scheduler
	end   context.CancelFunc
	ended chan struct{} // closed when it has ended
}

// prechecksAtOnce is how many prechecks run at the same time: many jobs may be due in
// the same minute. The others wait for their turn.
const prechecksAtOnce = 4

// newSchedules makes the scheduler, which sends nothing before it is started.
func (d *daemon) newSchedules() *jobs {
	turns := semaphore.NewWeighted(prechecksAtOnce)
	check := func(ctx context.Context, line string) (status int, err error) {
		if err := turns.Acquire(ctx, 1); err != nil {
			return 0, fmt.Errorf("wait for other prechecks: %w", err)
		}
		defer turns.Release(1)
		return d.precheck(ctx, line)
	}
	return &jobs{Scheduler: schedule.New(schedule.Options{
		Store: d.ledger, Core: d.manager, Log: d.log, Precheck: check, Admit: d.admits,
	})}
}

// start sends what is due, until stop.
func (j *jobs) start() {
	ctx, cancel := context.WithCancel(context.Background())
	j.end, j.ended = cancel, make(chan struct{})
	go func() { // ends by stop
		defer close(j.ended)
		j.Run(ctx)
	}()
}

// stop ends it and returns when nothing of it is under way any more. It may be called
// again, and before start.
func (j *jobs) stop() {
	if j == nil || j.end == nil {
		return
	}
	j.end()
	<-j.ended
}

// admits returns why nothing may be scheduled on a channel, nil if it may.
func (d *daemon) admits(ctx context.Context, key core.ChannelKey) error {
	if d.telegram == nil || !strings.HasPrefix(string(key), telegram.Prefix) {
		return nil
	}
	return d.telegram.adapter.CheckRecipient(ctx, key)
}

// precheck runs a command line in the agent's directory, with the environment that the
// agent's own commands have.
func (d *daemon) precheck(ctx context.Context, line string) (status int, err error) {
	r, err := precheck.Run(ctx, line, d.cfg.CWD, claude.Environ(os.Environ(), d.cfg.PassEnv), precheck.Limit)
	return r.Status, err
}
