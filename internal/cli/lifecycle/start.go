package lifecycle

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/samefile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
)

// Start starts the gateway: its service if one is installed, else a process in the background.
type Start struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*Start) Help() string {
	return "Without a service the gateway runs in the background, and outlives this terminal; `bareclaw serve` runs it in the foreground. " +
		"It reads the .env of this directory if a gateway has read it before, and that of your configuration in any case."
}

var errStartInside = errors.New("a session cannot start a gateway; run this command in a terminal of your own")

// A startReport is the result of a start.
type startReport struct {
	Already bool           `json:"already"` // the gateway ran before
	PID     int            `json:"pid"`
	Address string         `json:"address"`
	Service service.System `json:"service,omitempty"` // the service manager that runs the gateway
	TookMS  int64          `json:"took_ms"`
	Returns comeback       `json:"starts_again,omitempty"` // after a reboot; empty: never
}

// Run runs the command.
func (s *Start) Run(c *command.Context) error {
	if command.InSession() {
		return errStartInside
	}
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	if _, err := c.LiveClient(); err != nil { // it crashes again and again
		return err
	}
	manager := service.Local()
	managed, err := ManagedBy(c.Context, manager, cfg.StateDir())
	if err != nil {
		return err
	}
	if here := filepath.Join(c.Dir, ".env"); managed.Manager == nil && exists(here) && !config.OnRecord(c.Dir) && !isUsers(here) {
		c.Tellf("%s", term.WrapIndented(c.Err, "", term.SafeLine(here)+" is not read: no gateway was started or set up here. `bareclaw serve` or `bareclaw init` reads it."))
	}
	began := time.Now()
	wheel := command.StartSpinner(c.Err, "waits until the gateway serves")
	already, err := heartbeat.Start(c.Context, heartbeat.Options{
		Config:     cfg,
		Service:    manager,
		Self:       c.Self,
		Dir:        c.Dir,
		Environ:    c.Environ,
		StartLimit: heartbeat.StartLimit,
		Out:        io.Discard,
	})
	wheel.End()
	if err != nil {
		return err
	}
	h, _, err := statemark.Gateway(cfg.StateDir())
	if err != nil {
		return fmt.Errorf("look at the gateway that was started: %w", err)
	}
	r := startReport{Already: already, PID: h.PID, Address: h.Address, TookMS: time.Since(began).Milliseconds()}
	r.Returns = comebackOf(c.Context, manager, managed, cfg.StateDir())
	if managed.Manager != nil {
		r.Service = manager.System()
	}
	if s.JSON {
		return c.PrintJSON(r)
	}
	return c.PrintLines(r.lines(func() bool { return manager.Available(c.Context) == nil })...)
}

// lines describes the start. managers reports whether a service manager answers here.
func (r *startReport) lines(managers func() bool) []string {
	where := fmt.Sprintf("pid %d, at http://%s", r.PID, term.SafeLine(r.Address))
	if r.Already {
		return []string{"The gateway runs already: " + where + "."}
	}
	how := " in the background"
	if r.Service != "" {
		how = " through " + string(r.Service)
	}
	lines := []string{fmt.Sprintf("Started the gateway%s in %s: %s.", how, humanize.Duration(humanize.Milliseconds(r.TookMS)), where)}
	switch {
	case r.Returns != never:
	case managers():
		lines = append(lines, "It will not start again after a reboot; `bareclaw service install` sees to that.")
	default:
		lines = append(lines, "It will not start again after a reboot. Start it at boot with `bareclaw serve`.")
	}
	return lines
}

// isUsers reports whether a file is the .env of the user's configuration.
func isUsers(file string) bool {
	_, users, err := config.DotEnvFiles(config.AsCommand)
	return err == nil && samefile.Paths(file, users)
}
