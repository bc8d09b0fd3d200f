package main

import (
	"context"
	"os"
	"strings"
	_ "time/tzdata" // zones are also known where the system has none, as in a bare container

	"bareclaw/adapters/telegram"
	"bareclaw/claude"
	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/internal/precheck"
)

// jobs is the scheduler at work.
type jobs struct {
	*schedule.Scheduler
	end   context.CancelFunc
	ended chan struct{} // closed when it has ended
}

// newSchedules makes the scheduler, which sends nothing before it is started.
func (d *daemon) newSchedules() *jobs {
	return &jobs{Scheduler: schedule.New(schedule.Options{
		Store: d.ledger, Core: d.manager, Log: d.log, Precheck: d.precheck, Admit: d.admits,
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
