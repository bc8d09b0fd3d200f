package service

import (
	"fmt"
	"path/filepath"
)

// A Job is a program that a service manager runs.
type Job string

// The jobs.
const (
	Gateway   Job = "gateway"   // the daemon, running all the time
	Heartbeat Job = "heartbeat" // `bareclaw heartbeat run`, once per interval
)

// Names of the installed units.
const (
	gatewayUnit    = "bareclaw.service"
	socketUnit     = "bareclaw.socket"
	heartbeatUnit  = "bareclaw-heartbeat.service"
	heartbeatTimer = "bareclaw-heartbeat.timer"
)

// A naming holds the names under which service managers and users know a job.
type naming struct {
	arguments []string // command-line arguments of bareclaw
	units     []string // all units that the job may have; the unit to enable and start first
	stopped   []string // the units in the order of stopping: a unit that starts another unit first
	service   string   // the service unit
	label     string   // launchd's label
	envFile   string   // environment file in the configuration directory
	install   string   // shell command that installs the job
	start     string   // shell command that starts the installed job, for systemd
	load      string   // shell command that loads the installed job into launchd
}

func (j Job) names() naming {
	if j == Heartbeat {
		return naming{
			arguments: []string{"heartbeat", "run"}, units: []string{heartbeatTimer, heartbeatUnit}, stopped: []string{heartbeatTimer, heartbeatUnit},
			service: heartbeatUnit, label: "com.bareclaw.heartbeat", envFile: "heartbeat.env",
			install: "bareclaw heartbeat install", start: "systemctl --user restart " + heartbeatTimer, load: "bareclaw heartbeat install",
		}
	}
	return naming{
		arguments: []string{"serve"}, units: []string{gatewayUnit, socketUnit}, stopped: []string{socketUnit, gatewayUnit},
		service: gatewayUnit, label: "com.bareclaw.gateway", envFile: "service.env",
		install: "bareclaw service install", start: "bareclaw service start", load: "bareclaw service start",
	}
}

// header returns the first line of every generated file, which marks the file as generated.
func (j Job) header() string {
	return fmt.Sprintf("# Written by `%s`, which overwrites changes.\n", j.names().install)
}

// envFile returns the environment file of a job, readable by the user alone because settings
// may be secrets.
func (j Job) envFile(spec Spec, dirs Dirs) File {
	return File{Path: dirs.envPath(j, spec), Mode: 0o600, Text: j.header() + envText(spec.variables())}
}

func (d Dirs) envPath(job Job, spec Spec) string {
	if spec.EnvFile != "" {
		return spec.EnvFile
	}
	return filepath.Join(d.Config, "bareclaw", job.names().envFile)
}
