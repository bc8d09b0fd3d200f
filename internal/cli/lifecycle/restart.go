package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/heartbeat/program"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
	"bareclaw/internal/wait"
)

// restartPatience is how long a ready new process may take to serve.
const restartPatience = time.Minute

// restartLook is the time between two looks at the new process.
const restartLook = 20 * time.Millisecond

// Restart has a new process of the program take over.
type Restart struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*Restart) Help() string {
	return "Running turns go on, and no request is refused. A gateway that `go run` has started, or that has BARECLAW_SOURCE, builds its program first; " +
		"any other takes the program's file as it is. If the new process cannot take over, the old one goes on, and the command prints why."
}

// A restarted is the result of a restart.
type restarted struct {
	PID    int    `json:"pid"` // of the gateway, which goes on; before and after are its workers
	Before served `json:"before"`
	After  served `json:"after"`
	TookMS int64  `json:"took_ms"`
}

type served struct {
	PID        int    `json:"pid"`
	Version    string `json:"version"`
	Generation uint64 `json:"generation"`
}

// Run runs the command.
func (r *Restart) Run(c *command.Context, gateway *client.Client) error {
	var before api.Health
	if err := gateway.Do(c.Context, http.MethodGet, api.PathHealth, nil, &before); err != nil {
		return err
	}
	began := time.Now()
	wheel := command.StartSpinner(c.Err, "the new process is built and started")
	defer wheel.End()
	if err := gateway.Do(c.Context, http.MethodPost, api.PathRestart, nil, nil); err != nil {
		return err
	}
	wheel.Show("the new process takes over")
	after, err := awaitSuccessor(c, gateway, before.Generation)
	wheel.End()
	if err != nil {
		return err
	}
	if after.PID == before.PID {
		return errors.New("the new process failed while it took over, so the old one was started anew; see `bareclaw logs`")
	}
	out := restarted{
		PID:    command.GatewayPID(c, after.PID),
		Before: served{before.PID, before.Version, before.Generation},
		After:  served{after.PID, after.Version, after.Generation},
		TookMS: time.Since(began).Milliseconds(),
	}
	if r.JSON {
		return c.PrintJSON(out)
	}
	version := term.SafeLine(after.Version)
	if after.Version != before.Version {
		version = term.SafeLine(before.Version) + " → " + version
	}
	return c.PrintLines(fmt.Sprintf("Restarted in %s: pid %d, version %s.", humanize.Duration(humanize.Milliseconds(out.TookMS)), out.PID, version))
}

// awaitSuccessor waits until a process of a later generation serves.
func awaitSuccessor(c *command.Context, gateway *client.Client, generation uint64) (now api.Health, err error) {
	ctx, cancel := context.WithTimeoutCause(c.Context, restartPatience, errors.New("no new process serves"))
	defer cancel()
	var silent error
	err = wait.Poll(ctx, restartLook, func() (bool, error) {
		now = api.Health{}
		silent = gateway.Do(ctx, http.MethodGet, api.PathHealth, nil, &now)
		return silent == nil && now.Ready && now.Generation > generation, nil
	})
	if err != nil && c.Context.Err() == nil {
		err = fmt.Errorf("wait %s for the new process: %w", restartPatience, cmp.Or(silent, err))
	}
	return now, err
}

// Upgrade replaces the gateway's program. The gateway goes back to the old program unless
// the new one is healthy.
type Upgrade struct {
	From     string `placeholder:"FILE|DIR" help:"The new program: its file, or a directory that holds a program named bareclaw, or its source, which is built."`
	Rollback bool   `help:"Put the program back that was there before the last upgrade."`
	Channel  string `placeholder:"CHANNEL" help:"Channel that gets the result as well."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*Upgrade) Help() string {
	return "Turns go on. The new program is on trial for half a minute.\n\nExamples:\n\n  bareclaw upgrade --from ~/src/bareclaw\n\n  bareclaw upgrade --rollback"
}

// Validate is called when the arguments have been read.
func (u *Upgrade) Validate() error {
	if (u.From == "") != u.Rollback {
		return errors.New("say either --from FILE|DIR or --rollback")
	}
	return nil
}

const (
	// pollUpgrade is the time between two questions for the outcome of an upgrade.
	pollUpgrade = 300 * time.Millisecond
	// upgradePatience is how long the gateway may be silent, or ignorant of the upgrade.
	upgradePatience = time.Minute
)

// errUpgradeInside refuses what the gateway's Unix socket refuses, before anything is built.
var errUpgradeInside = errors.New("a session cannot put another program in the place of its own gateway; run this command in a terminal of your own")

// Run upgrades the gateway, or without a gateway the file of this program.
func (u *Upgrade) Run(c *command.Context, gateway *client.Client) error {
	if command.InSession() {
		return errUpgradeInside
	}
	work, err := os.MkdirTemp("", "bareclaw-upgrade-") // private
	if err != nil {
		return fmt.Errorf("make room for the new program: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	file := ""
	if !u.Rollback {
		if file, err = program.Find(c.Context, u.From, work, c.Err); err != nil {
			return err
		}
		if err = program.Check(file); err != nil {
			return err
		}
		_, err = program.Ask(c.Context, file)
		if err != nil && !errors.Is(err, fs.ErrPermission) { // a file system without execution, such as /tmp: the staged copy is asked again
			return err
		}
	}
	before, err := lastUpgrade(c.Context, gateway)
	if errors.Is(err, client.ErrUnreachable) {
		return u.replace(c, gateway, file)
	}
	if err != nil {
		return err
	}
	u.note(c, "The gateway runs; asking it to try the new program.")
	order := api.UpgradeRequest{Path: file, Rollback: u.Rollback, Channel: u.Channel}
	if err := gateway.Do(c.Context, http.MethodPost, api.PathUpgrade, order, nil); err != nil {
		return err
	}
	u.note(c, "The new program takes over. It is on trial for half a minute.")
	after, err := awaitUpgrade(c.Context, gateway, before)
	if err != nil {
		return err
	}
	if after.State == string(program.WentBack) {
		return fmt.Errorf("the gateway went back from %s to %s: %s", term.SafeLine(after.To), term.SafeLine(after.From), term.SafeLine(after.Reason))
	}
	switch {
	case u.JSON:
		return c.PrintJSON(upgraded{After: after.To, Before: after.From, Tried: true})
	case u.Rollback:
		c.Sayf("Went back from %s to %s. `bareclaw upgrade --rollback` undoes that.", term.SafeLine(after.From), term.SafeLine(after.To))
	default:
		c.Sayf("Upgraded from %s to %s. `bareclaw upgrade --rollback` goes back.", term.SafeLine(after.From), term.SafeLine(after.To))
	}
	return nil
}

// An upgraded is the result of an upgrade.
type upgraded struct {
	Before string `json:"before,omitempty"` // version of the program before; unknown without a gateway
	After  string `json:"after"`
	Tried  bool   `json:"tried"` // by a gateway that runs it
}

// note prints a line about the progress.
func (u *Upgrade) note(c *command.Context, line string) {
	if u.JSON {
		c.Tellf("%s", line)
		return
	}
	c.Sayf("%s", line)
}

// replace upgrades without a gateway.
func (u *Upgrade) replace(c *command.Context, gateway *client.Client, file string) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	if h, alive, _ := statemark.Gateway(cfg.StateDir()); alive { // for example with another XDG_RUNTIME_DIR; without a trial nothing would roll back
		return fmt.Errorf("nothing was changed: the gateway's process %d is there, and cannot be reached %s. "+
			"Does XDG_RUNTIME_DIR differ from the gateway's? If the gateway hangs, `bareclaw stop --now` ends it", h.PID, gateway.Where())
	}
	place, err := program.PlaceOf(c.Self)
	if err != nil {
		return err
	}
	hold, err := place.Hold()
	if err != nil {
		return err
	}
	if hold != nil {
		defer func() { _ = hold.Close() }()
	}
	if u.Rollback {
		if file, err = place.Earlier(); err != nil {
			return err
		}
	}
	sum, err := place.Stage(file)
	if err != nil {
		return err
	}
	defer place.Discard()
	info, err := program.Ask(c.Context, place.Next())
	if err != nil {
		return err
	}
	if have, err := program.Sum(place.Path()); err != nil || have == sum {
		return errors.Join(err, fmt.Errorf("%s is that program already, %s", place.Path(), info.Version))
	}
	records, err := sqlite.Inspect(filepath.Join(cfg.StateDir(), "ledger.db"))
	if err == nil {
		err = info.Reads(records.MinReader)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil // without a ledger nothing can be misread
	}
	if err == nil {
		err = errors.Join(place.KeepRunning(place.Path()), place.Swap())
	}
	if err != nil {
		return err
	}
	if u.JSON {
		return c.PrintJSON(upgraded{After: info.Version})
	}
	c.Sayf("No gateway runs, so nothing was tried: %s is now %s, and the one before is %s.", place.Path(), term.SafeLine(info.Version), place.Old())
	return nil
}

func lastUpgrade(ctx context.Context, gateway *client.Client) (u api.Upgrade, err error) {
	err = gateway.Do(ctx, http.MethodGet, api.PathUpgrade, nil, &u)
	return u, err
}

// awaitUpgrade waits for the outcome of the upgrade. The gateway may be silent while a
// process takes over.
func awaitUpgrade(ctx context.Context, gateway *client.Client, before api.Upgrade) (u api.Upgrade, err error) {
	heard := time.Now()
	err = wait.Poll(ctx, pollUpgrade, func() (bool, error) {
		u, err = lastUpgrade(ctx, gateway)
		if err == nil && (u.BeganAt.IsZero() || u.BeganAt.Equal(before.BeganAt)) { // a clock may have been set back since
			err = errors.New("the gateway does not know of it")
		}
		switch {
		case err == nil:
			heard = time.Now()
		case time.Since(heard) > upgradePatience && ctx.Err() == nil:
			return false, fmt.Errorf("it is not known what became of the upgrade; see the log: %w", err)
		}
		return err == nil && u.State != string(program.OnTrial), nil
	})
	return u, err
}
