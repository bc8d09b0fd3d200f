package lifecycle

import (
	"context"
	"errors"
	"os"
	"testing"

	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/testkit/check"
)

// A stopper is the service manager of a gateway, of which only Stop is called.
type stopper struct {
	service.Manager
	stop func() error
}

func (s stopper) System() service.System                  { return service.Systemd }
func (s stopper) Stop(context.Context, service.Job) error { return s.stop() }

// TestStopNote: what a person has stopped stays noted as long as it is down, whatever else
// went wrong, and a gateway that goes on is not noted.
func TestStopNote(t *testing.T) {
	t.Parallel()
	failed := errors.New("the job failed")
	for name, c := range map[string]struct {
		stop func(dir string) error
		runs bool // when stop returns
		want bool
	}{
		"stopped":                {func(string) error { return nil }, false, true},
		"started anew meanwhile": {statemark.ClearStopped, false, true}, // as by a connection to a socket of systemd's
		"failed, and down":       {func(string) error { return failed }, false, true},
		"failed, and runs":       {func(string) error { return failed }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.runs {
				lock, err := lockfile.AcquireState(dir)
				check.OK(t, err)
				defer lock.Release()
			}
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			check.OK(t, err)
			defer func() { _ = null.Close() }()
			ctx := &command.Context{Context: t.Context(), Out: null, Err: null}
			m := Management{stopper{stop: func() error { return c.stop(dir) }}, service.Status{Installed: true, Active: true}}
			err = (&stopping{ctx, dir, m, m, stopFlags{}}).run()
			if _, noted := statemark.StoppedAt(dir); noted != c.want {
				t.Errorf("noted: %v, want %v; the stop returns %v", noted, c.want, err)
			}
		})
	}
}

// jobs is a service manager with some jobs of a gateway.
type jobs struct {
	service.Manager
	absent    bool
	heartbeat service.Status
}

func (j jobs) System() service.System { return service.Launchd } // whose jobs begin when the user logs in

func (j jobs) Available(context.Context) error {
	if j.absent {
		return errors.New("no bus")
	}
	return nil
}

func (j jobs) Status(_ context.Context, job service.Job, _ service.Spec) (service.Status, error) {
	if job == service.Heartbeat {
		return j.heartbeat, nil
	}
	return service.Status{}, nil
}

// TestStopSaysWhatStartsItAgain: a boot is named only where something starts the gateway then.
func TestStopSaysWhatStartsItAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const alone = "It stays down until you start it, with `bareclaw start`."
	for name, c := range map[string]struct {
		jobs    jobs
		managed bool
		want    string
	}{
		"nothing":             {jobs{}, false, alone},
		"no manager":          {jobs{absent: true, heartbeat: service.Status{Installed: true}}, false, alone},
		"service":             {jobs{}, true, "It stays down until you start it, with `bareclaw start`, or you log in after the machine has booted."},
		"heartbeat":           {jobs{heartbeat: service.Status{Installed: true}}, false, "It stays down until you start it, with `bareclaw start`, or you log in after the machine has booted."},
		"another's heartbeat": {jobs{heartbeat: service.Status{Installed: true, Dir: dir, Environ: []string{"BARECLAW_STATE_DIR=/of/another"}}}, false, alone},
	} {
		managed := Management{}
		if c.managed {
			managed.Manager = c.jobs
		}
		r := stopReport{Returns: comebackOf(t.Context(), c.jobs, managed, dir)}
		if r.StartCmd = startCommand; r.lines()[0] != c.want {
			t.Errorf("%s: %q", name, r.lines())
		}
	}
}
