package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"howett.net/plist"

	"bareclaw/internal/logfile"
	"bareclaw/internal/statemark"
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
		EnvironmentVariables: map[string]string{envVariable: dirs.envPath(job)},
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

// launchdManager manages the jobs of a user through launchd.
type launchdManager struct{ dirs Dirs }

// System returns Launchd.
func (launchdManager) System() System { return Launchd }

// domain returns the launchd domain of the user's login session on the screen.
func domain() string { return "gui/" + strconv.Itoa(os.Getuid()) }

func target(job Job) string { return domain() + "/" + job.names().label }

// A launchctlError is a failure of launchctl; the exit status identifies the cause.
type launchctlError struct {
	args   []string
	status int
	says   string
}

func (e *launchctlError) Error() string {
	return fmt.Sprintf("launchctl %s: exit status %d: %s", strings.Join(e.args, " "), e.status, e.says)
}

// absent reports whether launchd does not know the job. launchctl has two exit statuses
// for an unknown job.
func (e *launchctlError) absent() bool { return e.status == 3 || e.status == 113 }

func launchctl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "launchctl", args...)
	out, err := cmd.CombinedOutput()
	says := string(bytes.TrimSpace(bytes.ToValidUTF8(out, []byte("\uFFFD"))))
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return says, &launchctlError{args: args, status: exit.ExitCode(), says: says}
	}
	if err != nil {
		return says, fmt.Errorf("run launchctl: %w", err)
	}
	return says, nil
}

// Available returns an error if the user has no launchd domain, before a login at the
// screen.
func (m launchdManager) Available(ctx context.Context) error {
	_, err := launchctl(ctx, "print", domain())
	if refusal, ok := errors.AsType[*launchctlError](err); ok {
		return fmt.Errorf("launchd has no place for jobs of this user until you have logged in at the screen: %w", refusal)
	}
	return err
}

// A launchdJob is the state of a job as printed by launchctl.
type launchdJob struct {
	loaded   bool
	state    string
	pid      int
	lastExit string
}

// look queries launchd for the state of a job; an unknown job is not an error.
func look(ctx context.Context, job Job) (launchdJob, error) {
	says, err := launchctl(ctx, "print", target(job))
	if refusal, ok := errors.AsType[*launchctlError](err); ok && refusal.absent() {
		return launchdJob{}, nil
	}
	if err != nil {
		return launchdJob{}, err
	}
	j := launchdJob{loaded: true, state: printed(says, `state = (.*)`), lastExit: printed(says, `last (?:exit code|terminating signal) = (.*)`)}
	j.pid, _ = strconv.Atoi(printed(says, `pid = (\d+)`)) // 0 if launchctl prints no pid
	return j, nil
}

// printed returns the first capture group of the pattern line in launchctl's output, or
// "". Lines about the job itself are indented by exactly one tab.
func printed(says, line string) string {
	if m := regexp.MustCompile(`(?m)^\t` + line + `$`).FindStringSubmatch(says); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// Install writes a job's plist and loads the plist into launchd.
func (m launchdManager) Install(ctx context.Context, job Job, spec Spec) ([]string, error) {
	files, err := Files(Launchd, job, spec, m.dirs)
	if err != nil {
		return nil, err
	}
	if err := m.Available(ctx); err != nil {
		return nil, err
	}
	before, err := look(ctx, job)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(spec.StateDir, 0o700); err != nil { // launchd starts no job without a writable log
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	lines, written, err := place(files)
	if err != nil {
		return lines, err
	}
	if before.loaded && len(written) == 0 {
		if job == Gateway && before.pid == 0 {
			if err := m.Start(ctx, job); err != nil {
				return lines, err
			}
		}
		return m.tell(ctx, lines, "loaded already: ", job)
	}
	if job == Gateway && before.pid == 0 {
		if h, held, _ := statemark.Gateway(spec.StateDir); held {
			return lines, fmt.Errorf("%w: pid %d, at %s; the service starts with the next login", ErrHeld, h.PID, h.Address)
		}
	}
	if before.loaded {
		if err := bootout(ctx, job); err != nil {
			return lines, err
		}
		lines = append(lines, "unloaded the old "+job.names().label)
	}
	if err := m.bootstrap(ctx, job); err != nil {
		return lines, err
	}
	return m.tell(ctx, lines, "loaded ", job)
}

// bootstrap loads a job into launchd; a job with RunAtLoad starts immediately.
func (m launchdManager) bootstrap(ctx context.Context, job Job) error {
	// bootstrap fails for a disabled job, and only enable reverts a disable.
	if _, err := launchctl(ctx, "enable", target(job)); err != nil {
		return err
	}
	_, err := launchctl(ctx, "bootstrap", domain(), m.dirs.plistPath(job))
	return err
}

// bootout ends and unloads a job. A job unknown to launchd is not an error.
func bootout(ctx context.Context, job Job) error {
	_, err := launchctl(ctx, "bootout", target(job))
	if refusal, ok := errors.AsType[*launchctlError](err); ok && refusal.absent() {
		return nil
	}
	return err
}

func (launchdManager) tell(ctx context.Context, lines []string, verb string, job Job) ([]string, error) {
	j, err := look(ctx, job)
	if err != nil {
		return lines, err
	}
	line := verb + job.names().label
	if j.pid > 0 {
		line += fmt.Sprintf(", pid %d", j.pid)
	}
	return append(lines, line), nil
}

// Start starts the gateway now, or runs a single tick of the heartbeat.
func (m launchdManager) Start(ctx context.Context, job Job) error {
	j, err := look(ctx, job)
	if err != nil {
		return err
	}
	if !j.loaded {
		if err := m.bootstrap(ctx, job); err != nil || job == Gateway { // bootstrap starts the gateway immediately
			return err
		}
	}
	_, err = launchctl(ctx, "kickstart", target(job))
	return err
}

// Stop ends and unloads a job until the next login.
func (launchdManager) Stop(ctx context.Context, job Job) error { return bootout(ctx, job) }

// Restart ends and unloads a job, then loads and starts the job again.
func (m launchdManager) Restart(ctx context.Context, job Job) error {
	if err := bootout(ctx, job); err != nil {
		return err
	}
	return m.bootstrap(ctx, job)
}

// Uninstall unloads a job and removes the job's files.
func (m launchdManager) Uninstall(ctx context.Context, job Job) ([]string, error) {
	var did []string
	j, err := look(ctx, job)
	if err == nil && j.loaded {
		if job == Gateway {
			err = interrupt(ctx, j.pid)
		}
		if err := errors.Join(err, bootout(ctx, job)); err != nil {
			return nil, err
		}
		did = append(did, "unloaded "+job.names().label)
	}
	gone, errRemove := remove(m.dirs.plistPath(job), m.dirs.envPath(job))
	did = append(did, gone...)
	switch {
	case errRemove != nil:
		return did, errRemove
	case err != nil:
		return append(did, "launchd was not told: "+err.Error()), nil //nolint:nilerr // the files are gone, as requested
	case len(did) == 0:
		return []string{"the " + string(job) + " is not installed: nothing to remove"}, nil
	}
	return did, nil
}

// asInstalled returns spec with the directories of the installed job, because the caller may
// run in another working directory, and have another state directory.
func (p agentPlist) asInstalled(spec Spec) Spec {
	spec.Dir = cmp.Or(p.WorkingDirectory, spec.Dir)
	if p.StandardErrorPath != "" {
		spec.StateDir = filepath.Dir(p.StandardErrorPath)
	}
	return spec
}

// Status returns the state of a job. launchd reports neither start time nor next run.
func (m launchdManager) Status(ctx context.Context, job Job, spec Spec) (Status, error) {
	s := Status{System: Launchd, Installed: exists(m.dirs.plistPath(job))}
	var outdated string
	if s.Installed {
		p := readPlist(m.dirs.plistPath(job))
		s.addPlist(p)
		spec = p.asInstalled(spec)
		outdated = m.dirs.outdated(Launchd, job, spec)
		s.Current = outdated == ""
	}
	j, err := look(ctx, job)
	if err != nil {
		return s, err
	}
	s.State, s.PID, s.LastExit = j.state, j.pid, j.lastExit
	s.Active = j.loaded && (job == Heartbeat || j.pid > 0)
	switch {
	case !s.Installed:
	case !j.loaded:
		s.Problem = fmt.Sprintf("%s is installed and launchd does not have it. Run `%s`.", job.names().label, job.names().load)
	case !s.Active:
		s.Problem = fmt.Sprintf("%s does not run (last exit: %s). launchd tries it every 10 s; the log says why it ends.", job.names().label, s.LastExit)
	case !s.Current:
		s.Problem = problemOutdated(job.names(), outdated)
	}
	return s, nil
}
