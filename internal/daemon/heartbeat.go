package daemon

import (
	"context"
	"log/slog"
	"strings"

	"bareclaw/core/config"
	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
)

// A heartbeatKeeper installs the heartbeat where this gateway is there to stay: the two keep
// each other alive.
type heartbeatKeeper struct {
	cfg     config.Config
	self    string   // path of this program
	environ []string // of the jobs
	echo    bool     // the echo agent answers
	log     *slog.Logger
}

// keep installs the heartbeat, or logs why there is none. A service manager may take its
// time; keep ends with ctx at the latest.
func (k heartbeatKeeper) keep(ctx context.Context) {
	in := heartbeat.Ensure(ctx, heartbeat.Host{Config: k.cfg, Echo: k.echo, Service: service.Local(), Request: k.request()})
	switch {
	case ctx.Err() != nil:
	case in.Loud:
		k.log.Warn("heartbeat not installed", "why", in.Why)
	case in.Why != "":
		k.log.Info("heartbeat not installed", "why", in.Why)
	case len(in.Did) > 0:
		k.log.Info("heartbeat installed", "did", strings.Join(in.Did, "; "))
	}
}

// request describes jobs of a service manager that run as this gateway does.
func (k heartbeatKeeper) request() service.Request {
	dir, _ := service.WorkingDir() // an empty directory is refused
	return service.Request{
		Binary: k.self, Dir: dir, Environ: k.environ, Claude: k.cfg.Claude, Echo: k.echo,
		StateDir: k.cfg.StateDir, Interval: k.cfg.HeartbeatInterval,
	}
}
