package config

// HeartbeatMode selects the heartbeat's job that the daemon installs at start.
type HeartbeatMode string

// The heartbeat jobs: the job agreed to by the user, a job that asks the agent, a job that
// only restarts the gateway, or none.
const (
	HeartbeatAuto   HeartbeatMode = "auto"
	HeartbeatOn     HeartbeatMode = "on"
	HeartbeatRevive HeartbeatMode = "revive"
	HeartbeatOff    HeartbeatMode = "off"
)

var heartbeatModes = []HeartbeatMode{HeartbeatAuto, HeartbeatOn, HeartbeatRevive, HeartbeatOff}

// Decode reads the name of a job.
func (h *HeartbeatMode) Decode(text string) error { return choose(h, text, heartbeatModes) }

// Accepted lists the jobs.
func (*HeartbeatMode) Accepted() string { return alternatives(heartbeatModes) }
