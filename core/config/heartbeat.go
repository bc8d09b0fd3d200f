package config

// Heartbeat holds the settings of the heartbeat.
type Heartbeat struct {
	// Mode is the treatment of the heartbeat's job at start: `auto` installs what you
	// agreed to in `bareclaw init`, `on` asks Claude regularly, `revive` only starts a
	// gateway that is down, `off` installs nothing.
	//
	// The job runs under systemd or launchd. Asking Claude is billed, or counts against your
	// plan's limits; `revive` costs nothing. `bareclaw heartbeat install` counts as agreed.
	Mode HeartbeatMode `envconfig:"BARECLAW_HEARTBEAT" default:"auto" harmless:"true"`
	// Interval is the time between two heartbeats.
	Interval Interval `envconfig:"BARECLAW_HEARTBEAT_INTERVAL" default:"1h" harmless:"true"`
	// Message is what a heartbeat says to Claude: a text, or `@` and the path of a
	// file.
	Message TextOrFile `envconfig:"BARECLAW_HEARTBEAT_MESSAGE" unset:"a question whether anything needs attention, to be answered HEARTBEAT_OK if not"`
	// Precheck is a command line for sh that is run before each heartbeat. Claude
	// is not asked if its status is not 0.
	Precheck CommandLine `envconfig:"BARECLAW_HEARTBEAT_PRECHECK" unset:"none"`
	// Notify is the channel that gets what a heartbeat has to report.
	//
	// Reports are kept on the channel "heartbeat" as well.
	Notify Channel `envconfig:"BARECLAW_HEARTBEAT_NOTIFY" unset:"none"`
}

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
