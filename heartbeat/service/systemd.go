package service

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
)

// unitDir returns the directory of the user's own systemd units.
func (d Dirs) unitDir() string { return filepath.Join(d.Config, "systemd", "user") }

func systemdFiles(job Job, spec Spec, dirs Dirs) ([]File, error) {
	env := job.envFile(spec, dirs)
	common, err := serviceOptions(job, spec, env.Path)
	if err != nil {
		return nil, err
	}
	var units []string
	texts := map[string][]*unit.UnitOption{}
	if job == Heartbeat {
		units = []string{heartbeatTimer, heartbeatUnit}
		texts[heartbeatTimer], texts[heartbeatUnit] = timerUnit(spec.Interval), heartbeatService(common)
	} else {
		units = []string{gatewayUnit}
		texts[gatewayUnit] = gatewayService(common, spec.Listen != "")
		if spec.Listen != "" {
			if texts[socketUnit], err = socketOf(spec.Listen); err != nil {
				return nil, err
			}
			units = append(units, socketUnit)
		}
	}
	var files []File
	for _, name := range units {
		text, err := io.ReadAll(unit.Serialize(texts[name]))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files = append(files, File{Path: filepath.Join(dirs.unitDir(), name), Mode: 0o644, Text: job.header() + string(text)})
	}
	return append(files, env), nil
}

// serviceOptions returns the options shared by the service units of all jobs.
func serviceOptions(job Job, spec Spec, envFile string) ([]*unit.UnitOption, error) {
	program, err := execPath(spec.Binary)
	if err != nil {
		return nil, err
	}
	dir, err := directoryPath(spec.Dir)
	if err != nil {
		return nil, err
	}
	if err := checkPath("the file of settings", envFile); err != nil {
		return nil, err
	}
	env, err := envFilePath(envFile)
	if err != nil {
		return nil, err
	}
	return []*unit.UnitOption{
		unit.NewUnitOption("Service", "ExecStart", strings.Join(append([]string{program}, job.names().arguments...), " ")),
		unit.NewUnitOption("Service", "WorkingDirectory", dir),
		unit.NewUnitOption("Service", "EnvironmentFile", env),
		// Child processes must outlive the unit: session hosts outlive the gateway, and
		// a gateway outlives the heartbeat that started the gateway.
		unit.NewUnitOption("Service", "KillMode", "process"),
	}, nil
}

func gatewayService(common []*unit.UnitOption, socket bool) []*unit.UnitOption {
	options := []*unit.UnitOption{
		unit.NewUnitOption("Unit", "Description", "BAREclaw, a gateway between chat channels and the claude CLI"),
		// systemd retries a failing gateway for some minutes, then leaves the failed
		// unit for a person to inspect.
		unit.NewUnitOption("Unit", "StartLimitIntervalSec", "5min"),
		unit.NewUnitOption("Unit", "StartLimitBurst", "20"),
	}
	if socket {
		options = append(options,
			unit.NewUnitOption("Unit", "Requires", socketUnit), // without the socket unit the gateway would bind the address, and the socket unit would fail
			unit.NewUnitOption("Unit", "After", socketUnit))
	}
	options = append(options,
		unit.NewUnitOption("Service", "Type", "notify"),
		unit.NewUnitOption("Service", "NotifyAccess", "main"))
	options = append(options, common...)
	return append(options,
		// The shell runs kill, because the path of kill varies between
		// systems.
		unit.NewUnitOption("Service", "ExecReload", `/bin/sh -c "kill -HUP $MAINPID"`),
		unit.NewUnitOption("Service", "WatchdogSec", "1min"),
		unit.NewUnitOption("Service", "Restart", "on-failure"),
		unit.NewUnitOption("Service", "RestartSec", "2s"),
		unit.NewUnitOption("Service", "TimeoutStopSec", "30s"),
		unit.NewUnitOption("Service", "OOMPolicy", "continue"), // an out-of-memory kill of a single claude must not stop the service
		unit.NewUnitOption("Install", "WantedBy", "default.target"),
	)
}

func heartbeatService(common []*unit.UnitOption) []*unit.UnitOption {
	return slices.Concat([]*unit.UnitOption{
		unit.NewUnitOption("Unit", "Description", "BAREclaw heartbeat"),
		unit.NewUnitOption("Service", "Type", "oneshot"),
		// systemd runs no two ticks at once, and a hanging tick would block all later
		// ticks. A working tick abandons its work after half an hour.
		unit.NewUnitOption("Service", "TimeoutStartSec", "1h"),
	}, common)
}

func timerUnit(interval time.Duration) []*unit.UnitOption {
	return []*unit.UnitOption{
		unit.NewUnitOption("Unit", "Description", "BAREclaw heartbeat, every "+span(interval)),
		unit.NewUnitOption("Timer", "OnBootSec", "5min"),
		unit.NewUnitOption("Timer", "OnUnitActiveSec", span(interval)),
		unit.NewUnitOption("Timer", "Persistent", "true"),
		unit.NewUnitOption("Install", "WantedBy", "timers.target"),
	}
}

func socketOf(address string) ([]*unit.UnitOption, error) {
	if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`%\"'`, r) }) {
		return nil, fmt.Errorf("systemd cannot listen on %q", address)
	}
	return []*unit.UnitOption{
		unit.NewUnitOption("Unit", "Description", "BAREclaw's address"),
		unit.NewUnitOption("Socket", "ListenStream", address),
		unit.NewUnitOption("Socket", "FileDescriptorName", "http"),
		unit.NewUnitOption("Install", "WantedBy", "sockets.target"),
	}, nil
}

// span formats a duration in systemd's syntax, in whole seconds.
func span(d time.Duration) string {
	seconds := max(1, int64(d.Round(time.Second)/time.Second))
	var parts []string
	for _, u := range []struct {
		length int64
		name   string
	}{{3600, "h"}, {60, "min"}, {1, "s"}} {
		if n := seconds / u.length; n > 0 {
			parts = append(parts, fmt.Sprint(n)+u.name)
			seconds %= u.length
		}
	}
	return strings.Join(parts, " ")
}
