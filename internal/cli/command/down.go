package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/humanize"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
	"bareclaw/internal/wait"
)

// A Downtime says why no gateway answers.
type Downtime int

// The downtimes. A gateway that is Starting, Crashing or Unresponsive has a live process.
const (
	NeverRan     Downtime = iota // no gateway has run on this state directory
	StoppedByYou                 // by `bareclaw stop`, Ctrl-C or the service manager; only a person or a boot starts it
	Ended                        // in order
	Crashed                      // or killed
	Starting                     // and cannot be reached yet
	Crashing                     // the supervisor starts the worker again and again
	Unresponsive                 // the processes are alive
)

// A Down describes a gateway that does not answer.
type Down struct {
	Why       Downtime
	PID       int       // of the gateway, living or dead; 0 for NeverRan
	StartedAt time.Time // zero for NeverRan
	At        time.Time // when it was stopped or ended; zero for other downtimes

	stateDir string
}

// LookDown returns why the gateway of a state directory does not answer.
func LookDown(stateDir string) (Down, error) {
	d := Down{stateDir: stateDir}
	h, alive, err := statemark.Gateway(stateDir)
	held := lockfile.IsStateHeld(stateDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, nil
	case !alive && held: // it has not described itself yet
		d.Why = Starting
		return d, nil
	case errors.Is(err, io.EOF): // the first gateway died before it served
		d.Why = Crashed
		return d, nil
	case err != nil:
		return d, err
	}
	d.PID, d.StartedAt = h.PID, h.StartedAt
	stoppedAt, stopped := statemark.StoppedAt(stateDir)
	switch {
	case alive && h.LacksWorker():
		d.Why = Crashing
	case alive:
		d.Why = Unresponsive
	case stopped:
		d.Why, d.At = StoppedByYou, stoppedAt
	case !h.Ended:
		d.Why = Crashed
	default:
		st, err := os.Stat(filepath.Join(stateDir, lockfile.StateLockName))
		if err != nil {
			return d, fmt.Errorf("look at the state directory's lock: %w", err)
		}
		d.Why, d.At = Ended, st.ModTime() // the last write was at the gateway's end
	}
	return d, nil
}

// String describes the downtime in words that go on a sentence about a command.
func (d Down) String() string {
	now := time.Now()
	switch d.Why {
	case NeverRan:
		return "no gateway has run here yet"
	case StoppedByYou:
		return "the gateway is not running: you stopped it at " + humanize.Clock(d.At, now)
	case Ended:
		return "the gateway is not running: it ended normally at " + humanize.Clock(d.At, now)
	case Crashed:
		return "the gateway is not running: it crashed or was killed" + d.process(now)
	case Starting:
		return "a gateway is starting, or ending"
	case Crashing:
		return fmt.Sprintf("the gateway (pid %d) has crashed, and is started again after a pause of a minute at most", d.PID)
	}
	return fmt.Sprintf("the gateway (pid %d, started %s) cannot be reached", d.PID, humanize.Clock(d.StartedAt, now))
}

func (d Down) process(now time.Time) string {
	if d.PID == 0 {
		return ""
	}
	return fmt.Sprintf(" (pid %d, started %s)", d.PID, humanize.Clock(d.StartedAt, now))
}

// Advice says what to do.
func (d Down) Advice() string {
	state := " Its state is in " + term.SafeLine(d.stateDir) + "."
	switch d.Why {
	case NeverRan:
		return "Set it up with `bareclaw init`, or start it as it is with `bareclaw start`."
	case Crashed:
		return "Start it with `bareclaw start`; `bareclaw logs` says why it ended." + state
	case Crashing:
		return "`bareclaw logs` says why. Once that is mended, the next start succeeds; `bareclaw stop` and `bareclaw start` try at once." + state
	case Starting:
		return "Try again in a moment; `bareclaw doctor` looks further." + state
	case Unresponsive:
		return "`bareclaw doctor` says what to do." + state
	}
	return "Start it with `bareclaw start`." + state
}

// A downError is an error of a command that reached no gateway.
type downError struct {
	Down
	cause error
}

func (e downError) Error() string {
	if e.Why == Unresponsive || e.Why == Starting {
		return e.String() + ": " + e.cause.Error()
	}
	return e.String()
}

func (e downError) Unwrap() error { return e.cause }

// Explain returns the error of a command, or if the command reached no gateway an error that
// says why the gateway does not answer.
func Explain(c *Context, err error) error {
	_, explained := errors.AsType[downError](err)
	if explained || !errors.Is(err, client.ErrUnreachable) || InSession() {
		return err
	}
	cfg, _ := c.LenientConfig()
	if cfg.StateDir() == "" {
		return err
	}
	down, lookErr := LookDown(cfg.StateDir())
	if lookErr != nil {
		return errors.Join(err, lookErr)
	}
	return downError{down, err}
}

const (
	// crashPatience is how long a gateway may be without a worker until a command gives up. A
	// single crash is over by then.
	crashPatience = 1500 * time.Millisecond
	// crashLook is the time between two looks at the worker.
	crashLook = 50 * time.Millisecond
)

// errCrashing means that the gateway has had no worker for crashPatience.
var errCrashing = fmt.Errorf("%w: it has crashed", client.ErrUnreachable)

// isCrashing reports whether the gateway of a state directory has a supervisor and no worker.
func isCrashing(stateDir string) bool {
	h, alive, err := statemark.Gateway(stateDir)
	return err == nil && alive && h.LacksWorker()
}

// awaitWorker returns errCrashing if the gateway of a state directory has a supervisor and for
// crashPatience no worker. The supervisor keeps the sockets, so a request would wait there.
func awaitWorker(ctx context.Context, stateDir string) error {
	if !isCrashing(stateDir) {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, crashPatience)
	defer cancel()
	err := wait.Poll(limited, crashLook, func() (bool, error) { return !isCrashing(stateDir), nil })
	if err != nil && ctx.Err() == nil {
		return errCrashing
	}
	return nil
}

// watchWorker cancels a request whose gateway has no worker, until ctx ends.
func watchWorker(ctx context.Context, stateDir string, cancel context.CancelCauseFunc) {
	for {
		if err := awaitWorker(ctx, stateDir); err != nil {
			cancel(err)
			return
		}
		if wait.Sleep(ctx, crashLook) != nil {
			return
		}
	}
}

// GatewayHere returns the gateway of this state directory; the zero value if unknown, as in a
// session.
func GatewayHere(c *Context) lockfile.Holder {
	if InSession() {
		return lockfile.Holder{}
	}
	cfg, _ := c.LenientConfig()
	if cfg.StateDir() == "" {
		return lockfile.Holder{}
	}
	h, _, _ := statemark.Gateway(cfg.StateDir())
	return h
}

// GatewayPID returns the process that all commands and a service manager name, the supervisor,
// given the worker; the worker if the supervisor is not known.
func GatewayPID(c *Context, worker int) int {
	if h := GatewayHere(c); h.Worker == worker && worker > 0 {
		return h.PID
	}
	return worker
}
