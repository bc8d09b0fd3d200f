package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/core/schedule"
	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/precheck"
	"bareclaw/sessionhost/claude"
)

// prechecksAtOnce is how many prechecks run at the same time: many jobs may be due in
// the same minute. The others wait for their turn.
const prechecksAtOnce = 4

// newScheduler makes the scheduler, which sends nothing before it runs.
func newScheduler(e *engine, people []*adapter) *schedule.Scheduler {
	running := semaphore.NewWeighted(prechecksAtOnce)
	check := func(ctx context.Context, line string) (schedule.PrecheckResult, error) {
		if err := running.Acquire(ctx, 1); err != nil {
			return schedule.PrecheckResult{}, fmt.Errorf("wait for other prechecks: %w", err)
		}
		defer running.Release(1)
		// A precheck runs where the agent does, with the environment of the agent's commands.
		r, err := precheck.Run(ctx, line, string(e.cfg.Files.CWD), claude.Environ(os.Environ(), e.cfg.Claude.PassEnv), precheck.Limit)
		return schedule.PrecheckResult{Status: r.Status, Said: r.Said}, err
	}
	admit := func(ctx context.Context, key core.ChannelKey) error {
		for _, a := range people {
			if strings.HasPrefix(string(key), a.kind.Prefix) {
				return a.CheckRecipient(ctx, key)
			}
		}
		return nil
	}
	return schedule.New(schedule.Options{
		Store:      e.ledger,
		Submitter:  e.manager,
		Deliverers: e.manager.Adapters,
		Log:        e.log,
		Precheck:   check,
		Admit:      admit,
		BuiltIns:   []schedule.BuiltIn{heartbeat.Job(e.cfg.Heartbeat)},
		Waiter:     e.manager.Lookup,
		Push:       e.push.Send,
	})
}

// keepHeartbeat installs the heartbeat if this gateway is permanent, or logs why not: gateway
// and heartbeat keep each other alive. keepHeartbeat waits for the service manager, until the
// daemon's life ends at the latest.
func (b *base) keepHeartbeat(echo bool) {
	dir, _ := config.WorkingDir() // an empty directory is refused
	in := heartbeat.Ensure(b.life, heartbeat.Host{
		Config:  b.cfg,
		Service: service.Local(),
		Request: service.Request{
			Binary:   b.self,
			Dir:      dir,
			Environ:  b.environ,
			Claude:   string(b.cfg.Claude.Command),
			Echo:     echo,
			StateDir: b.cfg.StateDir(),
			Interval: time.Duration(b.cfg.Heartbeat.Interval),
		},
	})
	switch {
	case b.life.Err() != nil:
	case in.Loud:
		b.log.Warn("heartbeat not installed", "why", in.Why)
	case in.Why != "":
		b.log.Info("heartbeat not installed", "why", in.Why)
	case len(in.Did) > 0:
		b.log.Info("heartbeat installed", "did", strings.Join(in.Did, "; "))
	}
}
