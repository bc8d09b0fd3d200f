package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/detached"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/logfile"
	"bareclaw/internal/samefile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
)

// Revive returns nil once the gateway serves, and starts a gateway that is down, unless a person
// has stopped the gateway. Of the options it uses those for a start; o.Out is told what happens.
func Revive(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.Config.StateDir(), 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	return (&tick{Options: o, log: log{o.Out}}).revive(ctx)
}

// Start starts the gateway for a person, also one that a person has stopped, and returns once the
// gateway serves. running reports that it did already. Of the options Start uses those for a start.
func Start(ctx context.Context, o Options) (running bool, err error) {
	if err := os.MkdirAll(o.Config.StateDir(), 0o700); err != nil {
		return false, fmt.Errorf("make the state directory: %w", err)
	}
	t := &tick{Options: o, log: log{o.Out}}
	release, err := statemark.LockStart(ctx, o.Config.StateDir())
	if err != nil {
		return false, err
	}
	defer release()
	if h, err := t.find(ctx); err == nil && h.Ready {
		return true, nil
	}
	if _, alive, _ := statemark.Gateway(o.Config.StateDir()); alive { // a second one could not lock the state directory
		return true, t.awaitReady(ctx, nil)
	}
	managed, err := t.hasService(ctx)
	if err != nil {
		return false, err
	}
	return false, t.launch(ctx, managed)
}

// revive returns nil once the gateway serves. revive starts a gateway that is down, but
// only waits for a gateway that is alive, even if hanging, because a second gateway
// could not lock the state directory.
func (t *tick) revive(ctx context.Context) error {
	if h, err := t.find(ctx); err == nil && h.Ready {
		return nil
	}
	if holder, alive, _ := statemark.Gateway(t.Config.StateDir()); alive {
		t.log.printf("the gateway (pid %d) does not serve yet: waiting for it", holder.PID)
		err := t.awaitReady(ctx, nil)
		if refused, ok := errors.AsType[*client.Error](err); ok {
			return fmt.Errorf("the gateway (pid %d, since %s) is alive and refuses the heartbeat: are its settings, as BARECLAW_HTTP_TOKEN, others than those here? %w",
				holder.PID, holder.StartedAt.Format(time.RFC3339), refused)
		}
		if err != nil {
			return fmt.Errorf("the gateway (pid %d, since %s) is alive but does not answer, and a second one cannot be started beside it; "+
				"`bareclaw doctor` looks further, `bareclaw stop --now` ends it: %w", holder.PID, holder.StartedAt.Format(time.RFC3339), err)
		}
		return nil
	}
	err := t.start(ctx)
	if at, stopped := statemark.StoppedAt(t.Config.StateDir()); stopped && err != nil {
		return stoppedError{at}
	}
	return err
}

// start starts the gateway unless a person has stopped the gateway, and returns once the
// gateway serves. A stop that begins after the last look at the mark waits for the start
// and ends the new gateway.
func (t *tick) start(ctx context.Context) error {
	release, err := statemark.LockStart(ctx, t.Config.StateDir())
	if err != nil {
		return err
	}
	defer release()
	managed, err := t.hasService(ctx)
	if err != nil {
		return err
	}
	if at, stopped := statemark.StoppedAt(t.Config.StateDir()); stopped {
		return stoppedError{at}
	}
	t.woke = true
	return t.launch(ctx, managed)
}

// launch starts a gateway that is down, through its service if managed, and returns once the
// gateway serves.
func (t *tick) launch(ctx context.Context, managed bool) error {
	if managed {
		t.log.printf("the gateway is down: starting its service")
		if err := t.Service.Start(ctx, service.Gateway); err != nil {
			return fmt.Errorf("start the gateway's service: %w", err)
		}
		return t.awaitReady(ctx, nil)
	}
	t.log.printf("the gateway is down: starting %q; what it prints goes to %q", t.Self+" serve", t.gatewayLog())
	g := detached.Gateway{Self: t.Self, Dir: t.startDir(), Environ: t.Environ, Log: t.gatewayLog()}
	if t.Isolate != nil {
		g.Prepare = func(pid int) {
			if err := t.Isolate(ctx, pid); err != nil {
				t.log.printf("the gateway shares the unit of this tick: %q", err.Error())
			}
		}
	}
	started, err := g.Start()
	if err != nil {
		return err
	}
	return t.awaitReady(ctx, started)
}

// startDir returns the working directory of a gateway that no person starts. A gateway reads the
// .env of its directory whatever it is: one that is not on record must not come into effect
// because a tick was called beside it.
func (t *tick) startDir() string {
	if config.OnRecord(t.Dir) {
		return t.Dir
	}
	return t.Config.StateDir()
}

// A stoppedError reports that a person has stopped the gateway, and forbids a start.
type stoppedError struct{ at time.Time }

func (e stoppedError) Error() string {
	return "the gateway was stopped by you at " + e.at.Local().Format(time.DateTime) + ", and stays so until you start it (`bareclaw start`) or the machine has booted"
}

// find checks the gateway's health on the configured socket. If the socket differs, as
// in another login session, find uses the address recorded in the state directory.
func (t *tick) find(ctx context.Context) (api.Health, error) {
	t.gateway = gateway{client.Local(t.Config)}
	h, err := t.gateway.health(ctx)
	if _, alive, _ := statemark.Gateway(t.Config.StateDir()); alive && errors.Is(err, client.ErrUnreachable) {
		t.gateway = gateway{client.Direct(t.Config)}
		return t.gateway.health(ctx)
	}
	return h, err
}

// pid returns the gateway's process as other commands name it, the supervisor; the worker if that
// is not known.
func (t *tick) pid(h api.Health) int {
	if holder, alive, _ := statemark.Gateway(t.Config.StateDir()); alive {
		return holder.PID
	}
	return h.PID
}

func (t *tick) gatewayLog() string { return filepath.Join(t.Config.StateDir(), logfile.Name) }

// hasService reports whether a service is installed for the gateway of this state
// directory. A service of another state directory does not count.
func (t *tick) hasService(ctx context.Context) (bool, error) {
	if err := t.Service.Available(ctx); err != nil {
		t.log.printf("whether there is a service of the gateway is not known: %q", err.Error())
		return false, nil
	}
	s, err := t.Service.Status(ctx, service.Gateway, service.Spec{})
	if err != nil {
		return false, fmt.Errorf("ask %s for the gateway's service: %w", t.Service.System(), err)
	}
	if other := Elsewhere(s, t.Config.StateDir()); other != "" {
		t.log.printf("the installed service runs the gateway whose state is in %q, and not the one whose state is in %q", other, t.Config.StateDir())
		return false, nil
	}
	return s.Installed, nil
}

// Elsewhere returns the state directory of an installed job if different from stateDir;
// empty if equal or unknown.
func Elsewhere(s service.Status, stateDir string) string {
	if !s.Installed || s.Dir == "" {
		return ""
	}
	theirs, err := config.StateDirOf(s.Dir, s.Environ)
	if err != nil || theirs == stateDir || samefile.Paths(theirs, stateDir) {
		return ""
	}
	return theirs
}

// awaitReady returns nil once the gateway serves. started, if not nil, is the process that was
// started; its exit is no failure while another process holds the state directory.
func (t *tick) awaitReady(ctx context.Context, started *detached.Process) error {
	var ended <-chan error
	if started != nil {
		ended = started.Ended
	}
	ctx, cancel := context.WithTimeout(ctx, t.StartLimit)
	defer cancel()
	const pause, between = 50 * time.Millisecond, 5 * time.Second
	next := time.NewTicker(pause)
	defer next.Stop()
	said := time.Now()
	var refused *client.Error // set while the gateway answers but refuses the current settings
	var over error            // exit error of the started process
	for {
		h, err := t.find(ctx)
		if err == nil && h.Ready {
			t.log.printf("the gateway (pid %d) serves", t.pid(h))
			return nil
		}
		if ctx.Err() == nil {
			refused, _ = errors.AsType[*client.Error](err)
		}
		if time.Since(said) >= between {
			said = time.Now()
			t.log.printf("still waiting for the gateway")
		}
		select {
		case <-ctx.Done():
			if refused != nil {
				return fmt.Errorf("it did not say within %s that it serves: %w", t.StartLimit, refused)
			}
			if over != nil {
				return fmt.Errorf("the gateway that was started has ended (%w; see %s), and no other gateway served within %s", over, t.gatewayLog(), t.StartLimit)
			}
			return fmt.Errorf("it did not serve within %s", t.StartLimit)
		case err := <-ended:
			over, ended = err, nil
			if !lockfile.IsStateHeld(t.Config.StateDir()) {
				if said := started.LastLine(); said != "" {
					return fmt.Errorf("the gateway ended at once: %s (all it said is in %s)", term.SafeLine(said), t.gatewayLog())
				}
				return fmt.Errorf("the gateway ended at once (%w); %s says why", err, t.gatewayLog())
			}
		case <-next.C:
		}
	}
}
