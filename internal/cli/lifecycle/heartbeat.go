package lifecycle

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// Heartbeat groups the commands of the heartbeat.
type Heartbeat struct {
	Install   HeartbeatInstall   `cmd:"" help:"Install it in systemd or launchd, or bring it up to date."`
	Uninstall HeartbeatUninstall `cmd:"" help:"Uninstall it. A gateway that starts does not install it again by itself."`
	Status    HeartbeatStatus    `cmd:"" help:"Show how it is installed, when it comes next, and what the last ticks found."`
	Tick      HeartbeatRun       `cmd:"" name:"run" help:"Run a tick now. Claude is asked at most once in an interval."`
}

// HeartbeatInstall is the command `heartbeat install`.
type HeartbeatInstall struct {
	place
	Revive bool `help:"Only look after the gateway: Claude is not asked, and nothing is paid."`
	Print  bool `help:"Show the files, which hold your settings, and change nothing."`
}

// Run installs the job. The consent is recorded first, because an installed job without a
// record counts as full consent.
func (h *HeartbeatInstall) Run(c *command.Context, cfg config.Config, r service.Request) error {
	spec, err := service.NewSpec(r)
	if h.Print {
		return errors.Join(err, h.print(c, service.Heartbeat, spec))
	}
	if err != nil {
		return err
	}
	if err := h.takeUp(c, r.Dir); err != nil {
		return err
	}
	consent := heartbeat.ConsentAsk
	if h.Revive || cfg.Heartbeat.Mode == config.HeartbeatRevive {
		consent = heartbeat.ConsentRevive
	}
	if err := heartbeat.SaveConsent(cfg.StateDir(), consent); err != nil {
		return err
	}
	did, err := h.manager().Install(c.Context, service.Heartbeat, spec)
	c.Say(did)
	if err != nil {
		return err
	}
	if cfg.Heartbeat.Mode == config.HeartbeatOff {
		c.Say([]string{"BARECLAW_HEARTBEAT is off: gateways that start will not bring it up to date"})
	}
	c.Say([]string{asking(heartbeat.Asks(cfg), cfg.Heartbeat.Mode, humanize.Span(time.Duration(cfg.Heartbeat.Interval)))})
	return nil
}

// asking explains whether ticks ask Claude, the costs, and the alternative.
func asking(asks bool, setting config.HeartbeatMode, interval string) string {
	switch {
	case asks && setting == config.HeartbeatOn:
		return "Claude is asked once every " + interval + ", which is billed or counts against your plan's limits; BARECLAW_HEARTBEAT=revive asks nothing"
	case asks:
		return "Claude is asked once every " + interval + ", which is billed or counts against your plan's limits; `bareclaw heartbeat install --revive` asks nothing, and `bareclaw heartbeat uninstall` ends it"
	case setting == config.HeartbeatRevive:
		return "Claude is not asked (BARECLAW_HEARTBEAT is revive): ticks only start the gateway if it is down, which costs nothing"
	}
	return "Claude is not asked: ticks only start the gateway if it is down, which costs nothing; `bareclaw heartbeat install` has Claude asked too"
}

// HeartbeatUninstall is the command `heartbeat uninstall`.
type HeartbeatUninstall struct {
	where
}

// Run uninstalls the job. The refusal is recorded first, because a gateway may be
// starting.
func (h *HeartbeatUninstall) Run(c *command.Context, cfg config.Config) error {
	if err := heartbeat.SaveConsent(cfg.StateDir(), heartbeat.ConsentNo); err != nil {
		return err
	}
	did, err := h.manager().Uninstall(c.Context, service.Heartbeat)
	c.Say(did)
	if err == nil && cfg.Heartbeat.Mode == config.HeartbeatOn {
		c.Say([]string{"BARECLAW_HEARTBEAT is on: the next gateway that starts installs it again"})
	}
	return err
}

// HeartbeatRun is the command `heartbeat run`.
type HeartbeatRun struct {
	Wait time.Duration `help:"How long to wait for Claude's answer; one that comes later is taken up by the next tick." default:"30m"`
	JSON bool          `name:"json" help:"Print what is recorded of the tick as JSON; the log goes to standard error."`
}

// Run runs a tick. The log, which is printed too, explains failures.
func (h *HeartbeatRun) Run(c *command.Context, cfg config.Config) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	o := heartbeat.Options{
		Config:     cfg,
		Service:    service.Local(),
		Self:       c.Self,
		Dir:        dir,
		Environ:    c.Environ,
		StartLimit: heartbeat.StartLimit,
		Patience:   h.Wait,
		Out:        c.Out,
	}
	if os.Getenv("INVOCATION_ID") != "" { // systemd calls the tick
		o.Isolate = service.IsolateProcess
	}
	if !h.JSON {
		return heartbeat.Run(c.Context, o)
	}
	o.Out = c.Err
	began := time.Now()
	ran := heartbeat.Run(c.Context, o)
	records, err := heartbeat.Read(cfg.StateDir())
	var recorded struct {
		Tick *heartbeat.Tick `json:"tick"` // null: another tick was at work
	}
	if n := len(records.Ticks); err == nil && n > 0 && !records.Ticks[n-1].At.Before(began) {
		recorded.Tick = &records.Ticks[n-1]
	}
	return errors.Join(ran, err, c.PrintJSON(recorded))
}

// HeartbeatStatus is the command `heartbeat status`.
type HeartbeatStatus struct {
	place
	JSON bool `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (h *HeartbeatStatus) Run(c *command.Context, cfg config.Config, r service.Request) error {
	s := heartbeat.Look(c.Context, cfg, h.manager(), r)
	if h.JSON {
		return c.PrintJSON(s)
	}
	return c.PrintLines(heartbeatLines(c.Out, &s)...)
}

// heartbeatLines describes the heartbeat in two columns: the topic, and the text in lines.
func heartbeatLines(out io.Writer, s *heartbeat.Status) (lines []string) {
	const column = 11
	width, terminal := term.Columns(out)
	line := func(name, format string, args ...any) {
		says := []string{term.SafeLine(fmt.Sprintf(format, args...))}
		if terminal {
			says = term.Wrap(says[0], width-column)
		}
		for _, said := range says {
			lines = append(lines, fmt.Sprintf("%-*s%s", column, name, said))
			name = ""
		}
	}
	line("heartbeat", "%s", installation(s))
	if s.Installed {
		line("asks", "%s", asking(s.Asks, s.Setting, s.Interval))
	}
	if !s.Next.IsZero() {
		line("next", "%s", s.Next.Local().Format(time.DateTime))
	}
	if to := s.Notify; to != "" {
		line("tells", "%s", to)
	} else {
		line("tells", "nobody: BARECLAW_HEARTBEAT_NOTIFY is not set")
	}
	if s.Gateway != nil && s.Gateway.Why != "" && !s.Installed && !slices.Contains(s.Problems, s.Gateway.Why) {
		line("gateway", "did not install it at its start: %s", s.Gateway.Why)
	}
	for _, p := range s.Problems {
		line("problem", "%s", p)
	}
	for _, n := range s.Notes {
		line("note", "%s", n)
	}
	if owed := s.Owed(); len(owed) > 0 {
		last := owed[len(owed)-1]
		line("untold", "%d since %s, tried again with the next tick: %s", len(owed), owed[0].At.Local().Format(time.DateTime), last.Problem)
	}
	if len(s.Ticks) == 0 {
		line("ticks", "none yet")
	}
	const shown = 10
	for i := len(s.Ticks) - 1; i >= max(0, len(s.Ticks)-shown); i-- {
		tick := s.Ticks[i]
		tick.Message = "" // an id, which fills a line
		line("tick", "%s %s", tick.At.Local().Format(time.DateTime), tick.String())
	}
	return lines
}

func installation(s *heartbeat.Status) string {
	every := fmt.Sprintf("by %s, every %s", s.System, s.Interval)
	switch {
	case !s.Installed && s.Declined:
		return "not installed: it was declined or uninstalled; `bareclaw heartbeat install` installs it"
	case !s.Installed && s.Setting == config.HeartbeatAuto && s.Consent == heartbeat.ConsentNone:
		return "not installed: nobody has agreed to it; `bareclaw heartbeat install` installs it, with --revive one that asks Claude nothing"
	case !s.Installed:
		return "not installed; BARECLAW_HEARTBEAT is " + string(s.Setting)
	case !s.Active:
		return "installed " + every + ", but it does not run; `bareclaw heartbeat install` starts it"
	case !s.Current:
		return "installed " + every + ", but otherwise than `bareclaw heartbeat install` would do here"
	}
	return "installed " + every
}
