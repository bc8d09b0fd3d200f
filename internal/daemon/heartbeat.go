package daemon

import (
	"strings"

	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
)

// keepHeartbeat installs the heartbeat where this gateway is there to stay, or logs why there
// is none: the two keep each other alive. A service manager may take its time; keepHeartbeat
// ends with the daemon's life at the latest.
func (b *base) keepHeartbeat(echo bool) {
	dir, _ := service.WorkingDir() // an empty directory is refused
	in := heartbeat.Ensure(b.life, heartbeat.Host{Config: b.cfg, Echo: echo, Service: service.Local(), Request: service.Request{
		Binary: b.self, Dir: dir, Environ: b.environ, Claude: b.cfg.Claude, Echo: echo,
		StateDir: b.cfg.StateDir, Interval: b.cfg.HeartbeatInterval,
	}})
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
