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
