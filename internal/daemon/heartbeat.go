package daemon

import (
	"context"
	"strings"

	"bareclaw/core/config"
	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
)

// keepHeartbeat sees to it that the heartbeat is installed where this gateway is there
// to stay: the two keep each other alive. It is done beside serving, since a service
// manager may take its time, and ends with the daemon at the latest.
func (d *daemon) keepHeartbeat() {
	ctx, cancel := context.WithCancel(context.Background())
	d.closers = append(d.closers, cancel)
	go func() { // ends with ctx, or when the service manager has answered
		in := heartbeat.Ensure(ctx, heartbeat.Host{
			Config: d.cfg, Echo: d.engine.agent.kind == config.AgentEcho, Service: service.Local(), Request: d.jobRequest(),
		})
		switch {
		case ctx.Err() != nil:
		case in.Loud:
			d.log.Warn("heartbeat not installed", "why", in.Why)
		case in.Why != "":
			d.log.Info("heartbeat not installed", "why", in.Why)
		case len(in.Did) > 0:
			d.log.Info("heartbeat installed", "did", strings.Join(in.Did, "; "))
		}
	}()
}

// jobRequest is what jobs of a service manager are made of that do as this daemon does.
func (d *daemon) jobRequest() service.Request {
	dir, _ := service.WorkingDir() // none is refused as a directory
	return service.Request{
		Binary: d.self, Dir: dir, Environ: d.environ, Claude: d.cfg.Claude, Echo: d.engine.agent.kind == config.AgentEcho,
		StateDir: d.cfg.StateDir, Interval: d.cfg.HeartbeatInterval,
	}
}
