package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
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
	return "Turns that run go on, and no request is refused. Where the gateway was built from a source tree that is still there, " +
		"it is built anew first. If the new process cannot take over, the old one goes on, and the reason is told."
}

// A restarted is the result of a restart.
type restarted struct {
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
		Before: served{before.PID, before.Version, before.Generation}, After: served{after.PID, after.Version, after.Generation},
		TookMS: time.Since(began).Milliseconds(),
	}
	if r.JSON {
		return c.PrintJSON(out)
	}
	version := term.SafeLine(after.Version)
	if after.Version != before.Version {
		version = term.SafeLine(before.Version) + " → " + version
	}
	return c.PrintLines(fmt.Sprintf("Restarted in %s: pid %d → %d, version %s.", humanize.Duration(humanize.Milliseconds(out.TookMS)), before.PID, after.PID, version))
}

// awaitSuccessor waits until a process of a later generation serves.
func awaitSuccessor(c *command.Context, gateway *client.Client, generation uint64) (now api.Health, err error) {
	late := time.After(restartPatience)
	for look := time.Tick(restartLook); ; {
		now = api.Health{}
		err := gateway.Do(c.Context, http.MethodGet, api.PathHealth, nil, &now)
		if err == nil && now.Ready && now.Generation > generation {
			return now, nil
		}
		select {
		case <-look:
		case <-c.Context.Done():
			return now, c.Context.Err()
		case <-late:
			return now, fmt.Errorf("wait %s for the new process: %w", restartPatience, cmp.Or(err, errors.New("no new process serves")))
		}
	}
}
