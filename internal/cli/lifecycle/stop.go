// Package lifecycle has the commands that start, stop, replace, save and restore a gateway.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/statemark"
	"bareclaw/internal/wait"
	"bareclaw/sessionhost"
)

// stopLook is how often stop looks whether the gateway has ended.
const stopLook = 20 * time.Millisecond

var errStopInside = errors.New("a session cannot stop its own gateway; run this command in a terminal of your own")

// Stop ends the gateway.
type Stop struct{ stopFlags }

// stopFlags say how a gateway is ended.
type stopFlags struct {
	Sessions bool `help:"End the sessions too: every claude, and what it has started."`
	Now      bool `help:"Kill the gateway, for example if it hangs, without waiting for requests. Accepted messages are kept."`
	JSON     bool `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*Stop) Help() string {
	return "If a service manager runs the gateway, the command stops the service. Sessions go on unless --sessions is given, and the next gateway takes them up. " +
		"Nothing starts the gateway again but you, with `bareclaw start`, and where a service or the heartbeat is installed the next boot."
}

// Run runs the command.
func (s *Stop) Run(c *command.Context) error {
	if command.InSession() {
		return errStopInside
	}
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	managed, err := ManagedBy(c.Context, service.Local(), cfg.StateDir())
	if err != nil {
		return err
	}
	return (&stopping{c, cfg.StateDir(), managed, service.Local(), s.stopFlags}).run()
}

// A Management is the service of a gateway. The zero value is no service.
type Management struct {
	service.Manager
	status service.Status
}

// active reports whether the service runs, or is about to, as after a crash.
func (m Management) active() bool {
	return m.Manager != nil && (m.status.Active || m.status.PID > 0 || strings.HasPrefix(m.status.State, "activating"))
}

// startCommand is the command that starts the gateway, whoever runs it.
const startCommand = "bareclaw start"

// ManagedBy returns the service of the gateway with a state directory, if the manager
// answers and has such a service.
func ManagedBy(ctx context.Context, manager service.Manager, stateDir string) (Management, error) {
	if manager.Available(ctx) != nil {
		return Management{}, nil //nolint:nilerr // without a service manager there is no service
	}
	st, err := manager.Status(ctx, service.Gateway, service.Spec{})
	if err != nil {
		return Management{}, fmt.Errorf("ask %s for the gateway's service: %w", manager.System(), err)
	}
	if !st.Installed || heartbeat.Elsewhere(st, stateDir) != "" {
		return Management{}, nil
	}
	return Management{manager, st}, nil
}

// A stopReport is the result of a stop.
type stopReport struct {
	Running  bool           `json:"running"`           // a gateway ran
	PID      int            `json:"pid,omitempty"`     // of the gateway; 0 if unknown
	Service  service.System `json:"service,omitempty"` // the service manager that stopped the gateway
	Ended    int            `json:"sessions_ended"`
	Kept     int            `json:"sessions_kept"`
	TookMS   int64          `json:"took_ms"`
	StartCmd string         `json:"start_command"`
	Returns  comeback       `json:"starts_again,omitempty"` // when something else than a person starts it
}

// A comeback is when something starts a gateway again that a person has stopped.
type comeback string

// The comebacks. A stop counts until the machine boots.
const (
	never   comeback = ""
	atBoot  comeback = "boot"
	atLogin comeback = "login" // the first one after a boot
)

// comebackOf returns when the installed jobs of a service manager start a gateway again.
func comebackOf(ctx context.Context, manager service.Manager, managed Management, stateDir string) comeback {
	starts := managed.Manager != nil
	if !starts && manager.Available(ctx) == nil {
		beat, err := manager.Status(ctx, service.Heartbeat, service.Spec{})
		starts = err == nil && beat.Installed && heartbeat.Elsewhere(beat, stateDir) == ""
	}
	switch {
	case !starts:
		return never
	case service.StartsAtBoot(manager.System()):
		return atBoot
	}
	return atLogin
}

// A stopping is one run of stop.
type stopping struct {
	c        *command.Context
	stateDir string
	managed  Management
	manager  service.Manager
	flags    stopFlags
}

// run stops the gateway and reports what was done.
func (s *stopping) run() error {
	began := time.Now()
	r := stopReport{StartCmd: startCommand}
	if err := keepDown(s.c.Context, s.stateDir, func() error { return s.stop(&r) }); err != nil {
		return err
	}
	r.TookMS = time.Since(began).Milliseconds()
	r.Returns = comebackOf(s.c.Context, s.manager, s.managed, s.stateDir)
	var err error
	if s.flags.JSON {
		err = s.c.PrintJSON(r)
	} else {
		err = s.c.PrintLines(r.lines()...)
	}
	if err == nil && !r.Running && r.Ended == 0 {
		return fmt.Errorf("%w; its state directory is %s", command.ErrNotRunning, s.stateDir)
	}
	return err
}

// keepDown runs a function that ends the gateway of a state directory, and records that a
// person stops the gateway: before the end, because otherwise a tick of the heartbeat could
// start another gateway, and again afterwards, because a gateway that a service manager
// started meanwhile has removed the record. The record is dropped if a gateway goes on.
func keepDown(ctx context.Context, stateDir string, end func() error) error {
	if info, err := os.Stat(stateDir); err != nil || !info.IsDir() {
		return end() // no gateway has ever run there
	}
	err := errors.Join(statemark.MarkStopped(stateDir), statemark.AwaitStart(ctx, stateDir))
	if err == nil {
		err = end()
	}
	switch _, noted := statemark.StoppedAt(stateDir); {
	case errors.Is(err, context.Canceled): // a person who no longer waits still wants the gateway down
	case lockfile.IsStateHeld(stateDir):
		err = errors.Join(err, statemark.ClearStopped(stateDir))
	case err == nil && !noted:
		err = statemark.MarkStopped(stateDir)
	}
	return err
}

func (r *stopReport) lines() (lines []string) {
	if r.Running {
		line := "Stopped the gateway"
		if r.PID > 0 {
			line += fmt.Sprintf(" (pid %d)", r.PID)
		}
		if r.Service != "" {
			line += " through " + string(r.Service)
		}
		lines = append(lines, line+" in "+humanize.Duration(humanize.Milliseconds(r.TookMS))+".")
	}
	if r.Ended > 0 {
		lines = append(lines, "Ended "+humanize.Count(r.Ended, "session")+".")
	}
	if r.Kept > 0 {
		lines = append(lines, humanize.Count(r.Kept, "session")+" kept for the next gateway; `bareclaw stop --sessions` ends what is left.")
	}
	until := map[comeback]string{atBoot: ", or the machine boots", atLogin: ", or you log in after the machine has booted"}[r.Returns]
	return append(lines, "It stays down until you start it, with `"+r.StartCmd+"`"+until+".")
}

func (s *stopping) stop(r *stopReport) error {
	reminder := "bareclaw: still waiting for the gateway to end, %s so far"
	if !s.flags.Now {
		reminder += "; `bareclaw stop --now` kills it"
	}
	wheel := command.StartReminder(s.c.Err, "waits until the gateway has ended", reminder)
	defer wheel.End()
	h, alive, _ := statemark.Gateway(s.stateDir)
	r.Running = alive || s.managed.active() || lockfile.IsStateHeld(s.stateDir)
	if alive {
		r.PID = h.PID
	}
	if s.managed.active() {
		r.Service = s.managed.System()
	}
	before, err := sessionhost.Inspect(s.stateDir)
	if err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	if s.flags.Sessions {
		wheel.Show("waits until the sessions have ended")
		if err := sessionhost.EndAll(s.c.Context, s.stateDir); err != nil {
			return fmt.Errorf("end the sessions: %w", err)
		}
		r.Ended = len(before.Live) + len(before.Lost)
		return nil
	}
	r.Kept = len(before.Live)
	return nil
}

// end ends the gateway and returns when nobody holds the state directory.
func (s *stopping) end() error {
	ctx := s.c.Context
	stopService := func() error {
		if s.managed.Manager == nil {
			return nil
		}
		return s.managed.Stop(ctx, service.Gateway)
	}
	switch {
	case s.flags.Now:
		stopped := make(chan error, 1)
		go func() { stopped <- stopService() }() // ends with the service, or with ctx
		if err := errors.Join(s.signalAll(syscall.SIGKILL), <-stopped); err != nil {
			return err
		}
		return s.signalAll(syscall.SIGKILL)
	case s.flags.Sessions: // a service manager would leave the sessions
		if err := s.signalAll(syscall.SIGINT); err != nil {
			return err
		}
	}
	if err := stopService(); err != nil {
		return err
	}
	return s.signalAll(syscall.SIGTERM)
}

// signalAll signals the gateway, and a successor that took over meanwhile, until nobody
// holds the state directory. While another stop waits, only SIGKILL is sent: a second
// SIGTERM would end the gateway at once, without answers and with a failure status.
func (s *stopping) signalAll(sig syscall.Signal) error {
	turn, err := os.Open(s.stateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop the gateway: %w", err)
	}
	defer func() { _ = turn.Close() }()
	told, first := map[proc.Process]bool{}, false
	return wait.Poll(s.c.Context, stopLook, func() (bool, error) {
		first = first || !errors.Is(lockfile.Try(turn), lockfile.ErrHeld)
		h, alive, _ := statemark.Gateway(s.stateDir)
		if p := (proc.Process{PID: h.PID, Start: h.Start}); alive && !told[p] && (first || sig == syscall.SIGKILL) {
			told[p] = true
			if err := proc.Signal(p.PID, p.Start, sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return false, fmt.Errorf("stop the gateway: %w", err)
			}
			if sig == syscall.SIGKILL { // after its supervisor, which would start another one
				_ = proc.Signal(h.Worker, h.WorkerStart, sig) // it may have ended
			}
		}
		return !alive && !lockfile.IsStateHeld(s.stateDir), nil
	})
}
