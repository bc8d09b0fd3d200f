package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/cli/lifecycle"
	"bareclaw/internal/humanize"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
)

// A stopped describes the last gateway while none answers.
type stopped struct {
	PID       int        `json:"pid,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`   // orderly end
	Crashed   bool       `json:"crashed"`              // unexpected end
	Hung      bool       `json:"hung"`                 // the process is alive
	StoppedAt *time.Time `json:"stopped_at,omitempty"` // stop by a person; only a person, or a boot, starts the gateway again
}

// notRunning says when the gateway ended and how, and returns the error of the
// command.
func reportNotRunning(c *command.Context, asJSON bool, why error) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	last, said, err := lastGateway(cfg.StateDir, time.Now())
	if err != nil {
		return errors.Join(why, err)
	}
	if at, byUser := statemark.StoppedAt(cfg.StateDir); byUser && last != nil && !last.Hung {
		last.StoppedAt, last.Crashed = &at, false
		said = fmt.Sprintf("The gateway was stopped by you at %s, and stays down until you start it.", humanize.Clock(at, time.Now()))
	}
	if asJSON {
		if err := c.PrintJSON(overview{Last: last}); err != nil {
			return err
		}
	} else {
		c.Tellf("%s", said)
		c.Tellf("Its state is in %s.", term.SafeLine(cfg.StateDir))
		if last != nil && last.StoppedAt != nil {
			managed, err := lifecycle.ManagedBy(c.Context, service.Local(), cfg.StateDir)
			if err != nil { // the service manager does not answer
				c.Tellf("%s", command.ErrorText(err))
			}
			c.Tellf("Start it with `%s`.", managed.StartCommand())
		}
	}
	if last == nil {
		return command.NeverRan(why)
	}
	return why
}

// lastGateway describes the last gateway by its lock file.
func lastGateway(stateDir string, now time.Time) (last *stopped, said string, err error) {
	h, alive, err := statemark.Gateway(stateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "No gateway has run here yet.", nil
	}
	if err != nil {
		return nil, "", err
	}
	last = &stopped{PID: h.PID, StartedAt: &h.StartedAt}
	switch {
	case alive:
		last.Hung = true
		return last, fmt.Sprintf("The gateway's process %d is there, since %s, but cannot be reached.", h.PID, humanize.Clock(h.StartedAt, now)), nil
	case !h.Ended:
		last.Crashed = true
		return last, fmt.Sprintf("The gateway that was started %s (pid %d) has crashed or was killed: it did not end as it was told to.",
			humanize.Clock(h.StartedAt, now), h.PID), nil
	}
	st, err := os.Stat(filepath.Join(stateDir, lockfile.StateLockName))
	if err != nil {
		return nil, "", fmt.Errorf("look at the state directory's lock: %w", err)
	}
	at := st.ModTime() // the last write was at the gateway's end
	last.EndedAt = &at
	return last, fmt.Sprintf("The gateway has ended as it was told to, %s (it was started %s).", humanize.Clock(at, now), humanize.Clock(h.StartedAt, now)), nil
}
