package service

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"howett.net/plist"

	"bareclaw/internal/logfile"
)

// An agentPlist is the property list of a launchd job: launchd.plist(5).
type agentPlist struct {
	Label                string            `plist:"Label"`
	ProgramArguments     []string          `plist:"ProgramArguments"`
	WorkingDirectory     string            `plist:"WorkingDirectory"`
	EnvironmentVariables map[string]string `plist:"EnvironmentVariables"` // names the environment file alone: settings may be secrets
	RunAtLoad            bool              `plist:"RunAtLoad"`
	KeepAlive            *keepAlive        `plist:"KeepAlive,omitempty"`
	ThrottleInterval     int64             `plist:"ThrottleInterval,omitempty"`
	ExitTimeOut          int64             `plist:"ExitTimeOut,omitempty"`
	StartInterval        int64             `plist:"StartInterval,omitempty"`
	AbandonProcessGroup  bool              `plist:"AbandonProcessGroup"`
	StandardOutPath      string            `plist:"StandardOutPath"`
	StandardErrorPath    string            `plist:"StandardErrorPath"`
}

// keepAlive makes launchd restart a job unless the job exits with status 0.
type keepAlive struct {
	SuccessfulExit bool `plist:"SuccessfulExit"`
}

// plistPath returns the path of a job's plist in ~/Library/LaunchAgents, read by launchd
// at login.
func (d Dirs) plistPath(job Job) string {
	return filepath.Join(d.Home, "Library", "LaunchAgents", job.names().label+".plist")
}

func launchdFiles(job Job, spec Spec, dirs Dirs) ([]File, error) {
	if spec.Listen != "" {
		return nil, fmt.Errorf("launchd does not listen on %s for the gateway: that is for systemd", spec.Listen)
	}
	log := filepath.Join(spec.StateDir, logfile.Name) // the gateway limits the size of the log
	printed := log
	if job == Heartbeat {
		// Each tick writes heartbeat.log and limits the size of the file, and prints the
		// same lines to stdout. stderr goes to the log for errors before a tick opens
		// the log.
		log, printed = filepath.Join(spec.StateDir, HeartbeatLog), os.DevNull
	}
	p := agentPlist{
		Label:                job.names().label,
		ProgramArguments:     append([]string{spec.Binary}, job.names().arguments...),
		WorkingDirectory:     spec.Dir,
		EnvironmentVariables: map[string]string{envVariable: dirs.envPath(job, spec)},
		AbandonProcessGroup:  true, // gateways and session hosts must outlive the job that started them
		StandardOutPath:      printed,
		StandardErrorPath:    log,
	}
	if job == Heartbeat {
		p.StartInterval = max(1, int64(spec.Interval.Round(time.Second)/time.Second))
	} else {
		p.RunAtLoad, p.KeepAlive, p.ThrottleInterval, p.ExitTimeOut = true, &keepAlive{}, 10, 30
	}
	text, err := plist.MarshalIndent(p, plist.XMLFormat, "\t")
	if err != nil {
		return nil, fmt.Errorf("write the plist of the %s: %w", job, err)
	}
	return []File{{Path: dirs.plistPath(job), Mode: 0o600, Text: string(text) + "\n"}, job.envFile(spec, dirs)}, nil
}
