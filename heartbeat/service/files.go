package service

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
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
			arguments: []string{"heartbeat", "run"},
			units:     []string{heartbeatTimer, heartbeatUnit},
			stopped:   []string{heartbeatTimer, heartbeatUnit},
			service:   heartbeatUnit,
			label:     "com.bareclaw.heartbeat",
			envFile:   "heartbeat.env",
			install:   "bareclaw heartbeat install",
			start:     "systemctl --user restart " + heartbeatTimer,
			load:      "bareclaw heartbeat install",
		}
	}
	return naming{
		arguments: []string{"serve"},
		units:     []string{gatewayUnit, socketUnit},
		stopped:   []string{socketUnit, gatewayUnit},
		service:   gatewayUnit,
		label:     "com.bareclaw.gateway",
		envFile:   "service.env",
		install:   "bareclaw service install",
		start:     "bareclaw start",
		load:      "bareclaw start",
	}
}

// header returns the first line of every generated file, which marks the file as generated.
func (j Job) header() string {
	return fmt.Sprintf("# Written by `%s`, which overwrites changes.\n", j.names().install)
}

// envFile returns the environment file of a job, readable by the user alone because settings
// may be secrets.
func (j Job) envFile(spec Spec, dirs Dirs) File {
	return File{Path: dirs.envPath(j), Mode: 0o600, Text: j.header() + envText(spec.variables())}
}

// HeartbeatLog is the name of the heartbeat's log file in the state directory.
const HeartbeatLog = "heartbeat.log"

// Files returns the files of a job, the file that starts the job first. Files is a pure
// function of the arguments. The error lists every value that the service manager cannot
// represent, with the reason.
func Files(system System, job Job, spec Spec, dirs Dirs) ([]File, error) {
	if err := spec.check(job); err != nil {
		return nil, err
	}
	if system == Launchd {
		return launchdFiles(job, spec, dirs)
	}
	return systemdFiles(job, spec, dirs)
}

func (s Spec) check(job Job) error {
	var problems []error
	for what, path := range map[string]string{"the program": s.Binary, "the working directory": s.Dir, "the state directory": s.StateDir} {
		problems = append(problems, checkPath(what, path))
	}
	if s.Claude != "" {
		problems = append(problems, checkPath("the CLI", s.Claude))
	}
	if job == Heartbeat && s.Interval <= 0 {
		problems = append(problems, fmt.Errorf("an interval of %s is none", s.Interval))
	}
	for _, v := range s.variables() {
		problems = append(problems, checkVariable(v))
	}
	return errors.Join(problems...)
}

// checkPath returns an error unless path is an absolute path of printable text: service
// managers read their files as lines of UTF-8 and display paths to users.
func checkPath(what, path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("%s, %q, is not an absolute path", what, path)
	case !utf8.ValidString(path):
		return fmt.Errorf("%s, %q, is not UTF-8, which service managers ask for", what, path)
	case strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || noncharacter(r) }):
		return fmt.Errorf("%s, %q, has a line end or another character that cannot be shown, which a service file cannot hold", what, path)
	}
	return nil
}

// noncharacter reports whether r is a Unicode noncharacter or the byte order mark;
// systemd and XML refuse some of the noncharacters.
func noncharacter(r rune) bool {
	return r == '\ufeff' || r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
}

// checkVariable returns an error unless assignment can be an environment variable of a
// job.
func checkVariable(assignment string) error {
	name, value, ok := strings.Cut(assignment, "=")
	switch {
	case !ok || !isName(name):
		return fmt.Errorf("%q is not the name of a variable", name)
	case !utf8.ValidString(value):
		return fmt.Errorf("the value of %s is not UTF-8, which service managers ask for", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) || noncharacter(r) }):
		return fmt.Errorf("the value of %s has control characters, which a service file cannot hold", name)
	}
	return nil
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// variables returns the environment of a job as NAME=value: PATH, the choice of the
// agent, and the settings, without settings that would override PATH or the agent.
func (s Spec) variables() []string {
	vars := []string{"PATH=" + s.Path}
	if s.Claude == "" {
		vars = append(vars, "BARECLAW_AGENT=echo")
	} else {
		vars = append(vars, "BARECLAW_AGENT=claude", "BARECLAW_CLAUDE="+s.Claude)
	}
	for _, v := range s.Settings {
		if name, _, _ := strings.Cut(v, "="); name != "PATH" && name != "BARECLAW_AGENT" && name != "BARECLAW_CLAUDE" {
			vars = append(vars, v)
		}
	}
	return vars
}
